"""A SimOpt model as a simulator: its factors are the columns of alternatives and contexts."""

from mrg32k3a.mrg32k3a import MRG32k3a
from simopt.models.mm1queue import MM1Queue as Model

FIXED = {"warmup": 50, "people": 200}  # factors that do not change


def simulate(alternative, context, seed):
    """Return a response of one replication, and what the alternative costs by itself."""
    model = Model({**FIXED, **context, **alternative})
    streams = range(model.n_rngs)  # SimOpt numbers them: stream, substream, subsubstream
    model.before_replicate([MRG32k3a(s_ss_sss_index=[i, seed // 2**16, seed % 2**16]) for i in streams])
    responses, _gradients = model.replicate()
    # For several responses return a dict of numbers, such as these `responses`.
    return responses["avg_sojourn_time"] + 0.1 * alternative["mu"] ** 2
