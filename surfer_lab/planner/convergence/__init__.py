"""In how many groups, with which momentum, is a target loss reached soonest? Pure: no torch, no Ray, no clock.

After Omnivore (Hadjis et al. 2016, arXiv 1606.04487) and "Asynchrony begets Momentum" (Mitliagkas et al. 2016, arXiv
1605.09774): devices are black boxes with a throughput; workers are synchronous inside a group, groups are asynchronous
towards one another; seconds = seconds per iteration x iterations.
"""
