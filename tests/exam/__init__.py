# SPDX-License-Identifier: Apache-2.0
"""The exam: jobs simulated from measured constants, each with a cause planted whose true gain is known. It shares no code with the program."""
