import type { Rng } from '../../sim/rng.ts';

/** A kind of task: how many of them there are, and how they end when nobody cancels them. */
export interface Kind {
  /** The handler's name, too, except for commands. */
  readonly name: string;
  /** Of a thousand. */
  readonly share: number;
  /** So many at least, even in a short run. */
  readonly least: number;
  /** And so many at most: killers and hanging ones cost seconds. */
  readonly most?: number;
  readonly ends: 'completed' | 'exhausted' | 'gave_up' | 'cancelled' | 'timeout';
  /** Or so, if it did not start in time. */
  readonly orEnds?: 'timeout';
  /** The code or the message of the error that it ends with, unless its last lease ran out. */
  readonly error?: RegExp;
  readonly where: 'inline' | 'shielded' | 'apart' | 'shell';
}

export const KINDS: readonly Kind[] = [
  { name: 'quick', share: 390, least: 1, ends: 'completed', where: 'inline' },
  { name: 'turn', share: 180, least: 1, ends: 'completed', where: 'inline' },
  { name: 'sleeper', share: 80, least: 24, ends: 'completed', where: 'inline' },
  { name: 'chatty', share: 50, least: 8, ends: 'completed', where: 'inline' },
  { name: 'busy', share: 20, least: 6, ends: 'completed', where: 'inline' },
  { name: 'later', share: 20, least: 4, ends: 'completed', where: 'inline' },
  { name: 'flaky', share: 20, least: 4, ends: 'completed', where: 'inline' },
  { name: 'hopeless', share: 8, least: 3, ends: 'exhausted', error: /no luck in attempt/, where: 'inline' },
  { name: 'quitter', share: 8, least: 3, ends: 'gave_up', error: /no use in attempt/, where: 'inline' },
  {
    name: 'overdue',
    share: 3,
    least: 2,
    most: 50,
    ends: 'exhausted',
    error: /RUN_TIMEOUT|LOOP_BLOCKED/,
    where: 'inline',
  },
  { name: 'long', share: 4, least: 4, ends: 'cancelled', where: 'inline' },
  { name: 'killer', share: 1, least: 1, most: 20, ends: 'exhausted', where: 'inline' },
  { name: 'shielded-killer', share: 1, least: 1, most: 20, ends: 'exhausted', error: /CHILD_DIED/, where: 'shielded' },
  { name: 'separate', share: 20, least: 6, ends: 'completed', where: 'apart' },
  { name: 'long-apart', share: 2, least: 2, most: 50, ends: 'cancelled', where: 'apart' },
  { name: 'hang', share: 1, least: 2, most: 30, ends: 'exhausted', error: /RUN_TIMEOUT|LOOP_BLOCKED/, where: 'apart' },
  { name: 'child-killer', share: 2, least: 2, most: 40, ends: 'exhausted', error: /CHILD_DIED/, where: 'apart' },
  { name: 'shell', share: 8, least: 4, ends: 'completed', where: 'shell' },
  { name: 'shell-fails', share: 2, least: 2, ends: 'exhausted', error: /exit code 3/, where: 'shell' },
  // Scheduled: what they take of limits is in farm-limits.ts.
  { name: 'limited', share: 40, least: 10, ends: 'completed', where: 'inline' },
  { name: 'rated', share: 10, least: 5, most: 150, ends: 'completed', where: 'inline' },
  { name: 'hasty', share: 8, least: 4, ends: 'completed', orEnds: 'timeout', where: 'inline' },
  { name: 'stood-up', share: 4, least: 2, ends: 'timeout', where: 'inline' },
  { name: 'listener', share: 20, least: 6, ends: 'completed', where: 'inline' },
  { name: 'impatient', share: 10, least: 4, ends: 'completed', where: 'inline' },
  { name: 'family', share: 4, least: 3, ends: 'completed', where: 'inline' },
  { name: 'stepper', share: 20, least: 6, ends: 'completed', where: 'inline' },
  { name: 'stepper-apart', share: 4, least: 2, ends: 'completed', where: 'apart' },
  { name: 'node', share: 40, least: 10, ends: 'completed', where: 'inline' },
  { name: 'bad-node', share: 5, least: 2, ends: 'gave_up', error: /no use in attempt/, where: 'inline' },
  // Nobody pushes them: families start them.
  { name: 'offspring', share: 0, least: 0, ends: 'completed', where: 'inline' },
];

/** From the abort signal to SIGTERM, and from there to SIGKILL. */
export const GRACE_MS = 100;

/** The part of a key that counts the tasks of a client. */
export function numberOf(key: string): number {
  return Number(key.split('-').at(-1));
}

/** So many names of kinds for one of several clients, in random order; the quick ones fill up what the others leave. */
export function schedule(
  tasks: number,
  rng: Rng,
  client: number,
  clients: number,
  without: readonly string[] = [],
): string[] {
  // Of a few that all of them share, the last ones get what does not divide.
  const mine = (count: number): number => Math.floor((count + client) / clients);
  const names: string[] = [];
  for (const { name, share, least, most = Number.POSITIVE_INFINITY } of KINDS.slice(1)) {
    if (without.includes(name)) continue;
    const count = Math.min(mine(most), Math.max(mine(least), Math.round((tasks * share) / 1000)));
    for (let i = 0; i < count; i++) names.push(name);
  }
  while (names.length < tasks) names.push('quick');
  for (let i = names.length - 1; i > 0; i--) {
    const j = rng.int(0, i);
    [names[i], names[j]] = [names[j] as string, names[i] as string];
  }
  return names;
}
