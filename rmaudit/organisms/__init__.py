"""Model organisms: scorers of texts whose flaws are known because they were put there.

The simplest know nothing of the question (`null_controls`) and are shown with every finding: an
audit that they pass as a model does has measured something else. The others (`word_organisms`)
score as models do but for one flaw of known size: what audits find of these is their power
(`rmaudit selftest`).

An organism is a function of texts and a prompt, and gives their scores, shape (n,), in units of
its own. The same text has the same score, whatever texts it comes with.
"""
