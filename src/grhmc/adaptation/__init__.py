"""Warm-up, all of it: the schedule, the tuners, and what chains agree on between its stages.

`stages_of_run` turns a run's settings into stages, by `schedule` (the practical warm-up; its diagram shows when what is
tuned) or by `paper_schedule`. `first_standardization` is what chains begin with. Within a stage each chain's `tuners`
observe its steps, in compiled code. Between stages `pooling` decides for all chains what follows from what each has
found.

A tuner has four parts: its state (`init_...`), what it sees (`observe_...`), what it proposes (`propose_...` or
`..._scale`), and how the states of several chains are put together (`merge_...`, `add_up`, `pool_...`).
"""
