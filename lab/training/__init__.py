"""How R-Smol-135M, the organisms and the ledger of exploits were made."""
