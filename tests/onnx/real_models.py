"""Inputs of the real models, seeded: of each file of the folder that DNNL_TP_TEST_MODELS names, one dict a case."""
import numpy as np

rng = np.random.default_rng(1)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


# Inputs by file, once per batch size.
MODELS = {
    "magika_standard_v3_3": [{"bytes": rng.integers(0, 257, (n, 2048)).astype(np.int32)} for n in (1, 3)],
    "basic_pitch_nmp": [{"serving_default_input_2:0": normal(n, 43844, 1) * np.float32(.1)} for n in (1, 2)],
    "rfb_320": [{"input": normal(1, 3, 240, 320)}],
    "silero_vad_op18_ifless": [{"input": normal(n, size) * np.float32(.1), "sr": np.array(rate, np.int64),
                                "state": normal(2, n, 128)} for n, size, rate in ((1, 576, 16000), (2, 288, 8000))],
}
