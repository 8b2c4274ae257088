"""What kind of work is a training step? As studies of benchmark suites characterise theirs, predicted for any step.

    roofline_position(prediction, gpu_index)      the whole and its parts: FLOPs by byte, achieved FLOP/s
    scaling_by_topology(source, machines, counts) 1, 2, 4, ... GPUs on each way to connect them
    gains_on(step, gpus)                          what mixed precision and a compiler gain
    host_need(...)                                cores and host memory that feed n GPUs
    similarity(rows)                              workloads and kernels on a plane by principal components

Relies on predictions, machines and measured kernels as facts; reads nothing itself.
"""
