"""An illness among 200 people who meet at random, in Mesa: it lasts five days."""

import mesa


class Person(mesa.Agent):
    """Somebody who may be vaccinated, and who may be ill for some days."""

    def __init__(self, model, vaccinated, ill):
        super().__init__(model)
        self.immune, self.ill = vaccinated or ill, 5 if ill else 0

    def step(self):
        """Meet three people; infect those who are not immune."""
        if self.ill:
            self.ill -= 1
            for other in self.model.random.sample(list(self.model.agents), 3):
                if not other.immune and self.model.random.random() < self.model.contagion:
                    other.immune, other.ill = True, 5


def simulate(alternative, context, seed):
    """Return the cost, 1 for a vaccination and 3 for an illness, and how many fall ill."""
    town = mesa.Model(rng=seed)
    town.contagion, doses = context["contagion"], alternative["vaccinated"]
    people = [Person(town, vaccinated=i < doses, ill=i >= 195) for i in range(200)]
    for _ in range(60):
        town.agents.shuffle_do("step")
    ill = sum(person.immune for person in people[doses:])
    return {"cost": doses + 3 * ill, "ill": ill}
