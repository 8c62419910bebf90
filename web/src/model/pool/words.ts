/** What is said about a pool: why a check decides as it does, what it does, and what became of a start. */

import { plural } from '../text.ts';

const REASONS: Readonly<Record<string, string>> = {
  work: 'tasks wait for workers',
  late: 'a task has waited for longer than the target',
  below_min: 'there are fewer workers than the least',
  at_max: 'there is more work than the most workers are there for',
  burst: 'one check starts no more at once',
  below_threshold: 'too few tasks wait for another worker',
  limits: 'what waits is held by limits, and no worker could start it',
  cooldown_up: 'workers were started a moment ago',
  cooldown_down: 'the pool has changed a moment ago',
  backoff: 'the last start has come to nothing, and the next one waits',
  probe: 'the last starts have come to nothing, so one is tried',
  idle: 'workers have had no task for long enough',
  off: 'the pool is off',
};

/** Reasons of a version that this page does not know are shown as they are. */
export function reasonsText(reasons: readonly string[]): string {
  return reasons.map((reason) => REASONS[reason] ?? reason.replaceAll('_', ' ')).join('; ');
}

export interface Staff {
  readonly busy: number;
  readonly idle: number;
  readonly starting: number;
  readonly leaving: number;
}

/** From the bottom of a chart to its top. */
export const STAFF = ['busy', 'idle', 'starting', 'leaving'] as const satisfies readonly (keyof Staff)[];

/** A worker that was sent home finishes what it has: as of any worker, that is called draining. */
export const STAFF_WORDS = { busy: 'busy', idle: 'idle', starting: 'starting', leaving: 'draining' } as const;

export function staffText(staff: Staff): string {
  const there = STAFF.filter((kind) => staff[kind] > 0).map(
    (kind) => `${staff[kind].toLocaleString('en')} ${STAFF_WORDS[kind]}`,
  );
  return there.length === 0 ? 'no workers' : there.join(', ');
}

interface Course {
  readonly launch: number;
  readonly drain: number;
  readonly reasons: readonly string[];
}

/** What a check would do: `Start 2 workers: tasks wait for workers.` */
export function courseText({ launch, drain, reasons }: Course): string {
  const does =
    launch > 0 ? `Start ${plural(launch, 'worker')}` : drain > 0 ? `Send ${plural(drain, 'worker')} home` : 'Nothing';
  return reasons.length === 0 ? `${does}.` : `${does}: ${reasonsText(reasons)}.`;
}

/** The same as a sentence of its own: `A check would start 2 workers now: tasks wait for workers.` */
export function wouldText({ launch, drain, reasons }: Course): string {
  const does =
    launch > 0
      ? `start ${plural(launch, 'worker')}`
      : drain > 0
        ? `send ${plural(drain, 'worker')} home`
        : 'change nothing';
  return `A check would ${does} now${reasons.length === 0 ? '' : `: ${reasonsText(reasons)}`}.`;
}

/** What a decision came to. Of several checks at once the others find that one was faster. */
export function decidedText({
  launch,
  launched,
  drain,
  drained,
}: Pick<Course, 'launch' | 'drain'> & { readonly launched: number; readonly drained: number }): string {
  if (launched > 0) {
    const less = launched < launch ? ` of ${launch.toLocaleString('en')}; another check was faster` : '';
    return `Started ${plural(launched, 'worker')}${less}`;
  }
  if (drained > 0) return `Sent ${plural(drained, 'worker')} home`;
  return launch > 0 || drain > 0 ? 'Another check was faster' : 'Nothing';
}

interface Launch {
  readonly outcome: string;
  readonly said: string;
}

/** What a check that somebody asked for has done; `wrong` if a launcher has failed or has not answered. */
export function checkedText(
  checked: Course & { readonly launched: number; readonly drained: number; readonly launches: readonly Launch[] },
): { readonly wrong: boolean; readonly text: string } {
  const bad = checked.launches.filter(({ outcome }) => outcome !== 'started');
  const [first] = bad;
  if (first !== undefined) {
    return { wrong: true, text: `${bad.length} of ${plural(checked.launches.length, 'start')} failed: ${first.said}` };
  }
  const why = checked.reasons.length === 0 ? '' : `: ${reasonsText(checked.reasons)}`;
  const did = decidedText(checked);
  return { wrong: false, text: `${did === 'Nothing' ? 'There is nothing to do' : did}${why}.` };
}

interface Start {
  readonly state: string;
  readonly at: number;
  readonly endedAt?: number | undefined;
  readonly started?: string | undefined;
  readonly error?: string | undefined;
}

/** No launcher is waited for so long. */
export const SILENT_MS = 20_000;

/** What became of a start, and what the launcher said. A launcher that hangs and one that lies are told apart. */
export function startText({ state, at, started, error }: Start, now: number): string {
  if (error !== undefined) return `Nothing was started: ${error}`;
  switch (state) {
    case 'used':
      return started === undefined ? 'Its worker came' : `Started: ${started}`;
    case 'failed':
      return 'Nothing was started';
    case 'expired':
      return started === undefined
        ? 'The launcher never answered, and no worker came'
        : `The launcher said that it started “${started}”, and no worker came`;
    default:
      if (started !== undefined) return `Started: ${started}. Its worker has not come yet`;
      return now - at < SILENT_MS
        ? 'The launcher is starting it'
        : 'The launcher has not answered. Its worker may still come';
  }
}

/** The state of a ticket as a state of this UI has glyph and colour for it, and as it is called. */
export function ticketState(state: string): { readonly state: string; readonly label: string } {
  switch (state) {
    case 'open':
      return { state: 'starting', label: 'reserved' };
    case 'used':
      return { state: 'completed', label: 'redeemed' };
    case 'expired':
      return { state: 'lost', label: 'expired' };
    default:
      return { state: 'failed', label: state };
  }
}

/** How a pool stands, in one word with its state. */
export function poolState({
  enabled,
  problem,
  now,
}: {
  readonly enabled: boolean;
  readonly problem?: unknown;
  readonly now: Staff & { readonly there: number; readonly want: number };
}): { readonly state: string; readonly label: string } {
  if (!enabled) return { state: 'paused', label: 'off' };
  if (problem !== undefined) return { state: 'trouble', label: 'starts fail' };
  if (now.starting > 0) return { state: 'starting', label: 'starting' };
  if (now.there < now.want) return { state: 'waiting', label: 'too few' };
  return now.there > 0 ? { state: 'online', label: 'working' } : { state: 'ready', label: 'at rest' };
}
