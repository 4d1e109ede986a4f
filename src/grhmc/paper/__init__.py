"""The published experiments of Tran & Kleppe (2024), run again and compared with what was published: `grhmc paper`."""
