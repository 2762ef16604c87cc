"""Draw questions that nobody can have learned: about things and in wordings drawn by a seed.

Of `TOPICS` and `WORDINGS` some 680,000 questions can be made. Two questions of one draw share no
topic, so an answer to one is no answer to another.
"""

from __future__ import annotations

import numpy as np

_TOPICS = """
anchors ants apples aprons axes bakeries balloons bamboo baskets bears beans beaches bees bells
beards benches bicycles blankets boats books boots bread bricks bridges brooms butter buttons
cabbages calendars camels cameras candles canals caravans carpets carrots castles cats caves
cellos chairs cheese cherries chess chimneys chocolate circuses clay clocks clouds coal coffee
coins combs comets compasses cotton cows crabs crows cupboards curtains dams deserts dice
dictionaries dolphins donkeys doors dragons drums ducks eagles earthquakes eggs elephants
elevators envelopes farms feathers fences ferries fireworks flags flour fog forests forks fossils
foxes frogs garlic gates ghosts giraffes glaciers glass gloves glue goats gold grapes grass
guitars hammers hamsters harbours hats hedgehogs helmets herbs honey horses hospitals ice icebergs
ink islands jackets jam jewels jugglers kangaroos kettles keys kites knots ladders lakes lamps
lanterns lemons letters libraries lighthouses lightning lions locks magnets mailboxes maps
marathons markets matches medals melons mice milk mirrors monkeys mosquitoes moss mountains
mushrooms museums mustard nails necklaces needles nests newspapers noodles nuts oceans olives
onions orchestras owls paint palaces pancakes parachutes parks parrots passports peaches pencils
penguins pepper perfume photographs pianos picnics pigeons pillows pines pipes pirates pockets
poems ponds potatoes pumpkins puppets puzzles pyramids rabbits radios railways rain rainbows
ribbons rice rings rivers robots rockets roofs ropes roses rubber rugs sailors salt sand sandals
scarves schools scissors sharks sheep shoes shovels silk silver skis snails snakes snow soap socks
songs soup spiders sponges spoons squirrels stairs stamps stars statues steam stickers storms
strawberries submarines sugar suitcases sunflowers swans swings tables tailors tea teachers
telescopes tents theatres thunder tickets tigers toast tomatoes towels trains trams trumpets
tunnels turtles umbrellas vegetables vinegar violins volcanoes wagons wallets walls watches
waterfalls waves whales wheat wheels whistles wind windmills windows wolves wood wool worms zebras
zippers
"""
TOPICS = tuple(_TOPICS.split())
WORDINGS: tuple[str, ...] = (
    "How would you explain {} to a child who has only ever seen {}?",
    "What do {} and {} have in common?",
    "What is the main difference between {} and {}?",
    "Which are more useful in everyday life, {} or {}?",
    "Tell me a short story about {} and {}.",
    "Could people live without {} and {}?",
    "I have to give a talk about {} and {}. What should I say?",
    "What can people who like {} learn from people who like {}?",
)


BRIEFLY = " Answer in one or two sentences."


def questions(n: int, *, rng: np.random.Generator) -> list[str]:
    """Return `n` questions, each about two topics that no other of them has.

    Raises:
        ValueError: there are too few topics for so many.
    """
    topics = rng.choice(TOPICS, (n, 2), replace=False)
    wordings = rng.choice(WORDINGS, n)
    pairs = zip(wordings, topics, strict=True)
    return [str(wording).format(*own) + BRIEFLY for wording, own in pairs]
