"""schedule: which job runs on how many GPUs of which machine, and when?

    plan_jobs(jobs, nodes).best.makespan_s

`Job` and `Node` are records, `plan_jobs` places them and compares with the two schedules people fall back on,
`broken_rules` checks any schedule without knowing how it was made, `job_specs` reads the tables of a jobs file.
"""

from surfer_lab.planner.schedule.checker import broken_rules
from surfer_lab.planner.schedule.job_file import JobSpec, job_specs
from surfer_lab.planner.schedule.jobs import Job, Mode, Node, nodes_of
from surfer_lab.planner.schedule.placements import Placement, Schedule
from surfer_lab.planner.schedule.plan import Naive, Objective, SchedulePlan, plan_jobs

__all__ = [
    "Job", "JobSpec", "Mode", "Naive", "Node", "Objective", "Placement", "Schedule", "SchedulePlan", "broken_rules",
    "job_specs", "nodes_of", "plan_jobs",
]  # fmt: skip
