/** How idle the cores are: the share of their time in which they had nothing to do, whoever would have used it. */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

interface Time {
  readonly idle: number;
  readonly all: number;
}

function time(): Time {
  const times = cpus().map((core) => core.times);
  const sum = (of: (one: (typeof times)[number]) => number): number => times.reduce((total, one) => total + of(one), 0);
  return {
    idle: sum(({ idle }) => idle),
    all: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
  };
}

/** Measured over the time to come, from 0 to 1. */
export async function idleFor(ms: number): Promise<number> {
  const before = time();
  await sleep(ms);
  const after = time();
  return (after.idle - before.idle) / Math.max(1, after.all - before.all);
}
