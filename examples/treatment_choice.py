"""Which treatment for which patient? Profiles are the contexts, and a new patient gets an answer at once.

    python examples/treatment_choice.py --budget 600

A disease model says how many good months a patient of some age, kidney function and smoking habit has after
each of three treatments; it is noisy, and in practice slow. The study simulates typical profiles beforehand.
Later a patient comes who is none of them: `predict` names the treatment, `predict_proba` how sure that is.
The disease and its numbers are invented.
"""

import argparse

import numpy as np

import argbest

TREATMENTS = ["watchful waiting", "drug", "surgery"]
PROFILES = [
    {"age": age, "kidney": kidney, "smoker": smoker}
    for age in (40, 55, 70, 85)
    for kidney in (30, 60, 90)
    for smoker in (False, True)
]
COHORT = 25  # patients in one replication


def expected_months(treatment: str, patient: dict[str, int]) -> float:
    """Return the mean number of good months, which a real model would not tell."""
    age, kidney, smoker = patient["age"] - 60, patient["kidney"], patient["smoker"]
    if treatment == "surgery":  # best for the young; smokers recover badly
        return 58.0 - 0.9 * age - 14.0 * smoker
    if treatment == "drug":  # needs kidneys that work
        return 55.0 - 0.4 * age - 3.0 * smoker - 0.012 * max(0, 75 - kidney) ** 2
    return 45.0 - 0.3 * age - 2.0 * smoker


def simulate(treatment: str, patient: dict[str, int], seed: int) -> float:
    """Return the mean of a cohort of such patients, whose good months have a Gamma distribution."""
    mean = expected_months(treatment, patient)
    return float(np.random.default_rng(seed).gamma(4.0, mean / 4.0, COHORT).mean())


def main(arguments: list[str] | None = None) -> argbest.Study:
    """Run the study, print the decision table, and advise a patient who was never simulated."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--budget", type=int, default=600, help="cohorts; the first 144 are two each")
    options = parser.parse_args(arguments)

    problem = argbest.Problem(TREATMENTS, PROFILES, simulate, name="treatment")
    study = argbest.Study(problem, policy="dvr").run(options.budget)
    print("age  kidney  smoker  treatment         months  P(best)")
    for row in study.selection().to_dict("records"):
        smoker = "yes" if row["context.smoker"] else "no"
        print(
            f"{row['context.age']:3} {row['context.kidney']:7}  {smoker:6}  {row['selected']:16}  "
            f"{row['mean']:6.1f} {row['p_best']:8.2f}"
        )
    print(study.certificate(delta=2.0))

    patient = {"age": 62, "kidney": 70, "smoker": True}
    advice = study.predict(patient).iloc[0]
    print(f"\na new patient, {patient}: {advice['selected']}, about {advice['mean']:.0f} good months")
    for treatment, chance in study.predict_proba(patient)[TREATMENTS].iloc[0].items():
        print(f"  {treatment} is best with probability {chance:.2f}")
    return study


if __name__ == "__main__":
    main()
