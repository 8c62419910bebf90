interface World {
  readonly now: () => number;
  readonly random: () => number;
}

export const later = (world: World, at: Date): number => world.now() + world.random() + at.getTime() + Math.floor(1.5);
