"""The parts of SERENITY as published (Ahn et al., Ordering Chaos, MLSys 2020), each on its own."""
