import type { World } from '../../core/world.ts';

/** A world in which a wait takes no time: its clock jumps to the end of it. For tests of this folder. */
export function virtualWorld(random = 0.5): {
  readonly world: World;
  readonly waited: number[];
  readonly pass: (ms: number) => void;
} {
  let now = 0;
  const waited: number[] = [];
  const world: World = {
    clock: { wall: () => now, monotonic: () => now },
    random: () => random,
    timers: {
      after: (ms, fn) => {
        let isCancelled = false;
        setImmediate(() => {
          if (isCancelled) return;
          waited.push(ms);
          now += ms;
          fn();
        });
        return () => {
          isCancelled = true;
        };
      },
      soon: (fn) => void setImmediate(fn),
    },
  };
  return { world, waited, pass: (ms) => (now += ms) };
}
