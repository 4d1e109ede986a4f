"""The tuners: what each observes while its chain moves, in compiled code, and what it proposes."""
