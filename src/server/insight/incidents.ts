import { CREDENTIAL } from '../../core/placement/tag.ts';
import type { TaskEvent } from '../../core/task/event.ts';
import type { AnswerOf } from '../../protocol/routes.ts';

type Shown = AnswerOf<'overview'>['incidents'][number];
type Kind = Shown['kind'];

export interface IncidentsOptions {
  readonly idOf: (task: Pick<TaskEvent, 'task' | 'createdAt'>) => string;
  /** How many are kept. */
  readonly kept?: number;
}

/** Facts about the cluster that the feed does not carry, sampled from time to time. */
export interface ClusterSnapshot {
  /** Calendar time. */
  readonly at: number;
  /** Lost workers, by their number. */
  readonly lost: ReadonlyMap<number, string>;
  readonly leader: string | undefined;
  /** What ready tasks require of workers and no enabled one has: the test of tags, and the queues of the tasks. */
  readonly unmet: ReadonlyMap<string, ReadonlySet<string>>;
}

type KeptIncident = Omit<Shown, 'task' | 'text'> & { readonly describe: () => Pick<Shown, 'task' | 'text'> };

const KEPT = 50;
const MOST_QUEUES = 3;

/** The last incidents since this node started. */
export class Incidents {
  readonly #idOf: IncidentsOptions['idOf'];
  readonly #most: number;
  readonly #kept: KeptIncident[] = [];
  #seq = 0;
  #seen: ClusterSnapshot | undefined;
  /** Requirements that were told, as long as nobody meets them. */
  readonly #told = new Set<string>();

  constructor({ idOf, kept = KEPT }: IncidentsOptions) {
    this.#idOf = idOf;
    this.#most = kept;
  }

  /** Every event passes here, so texts are made only when somebody reads them. */
  add(event: TaskEvent): void {
    this.#seq = event.seq;
    const kind = kindOf(event);
    if (kind === undefined) return;
    const { at, seq } = event;
    this.#put({ at, seq, kind, describe: () => ({ task: this.#idOf(event), text: describeTask(kind, event) }) });
  }

  /** The first snapshot makes no incident: its losses are old. */
  observe(snapshot: ClusterSnapshot): void {
    const before = this.#seen;
    this.#seen = { ...snapshot, leader: snapshot.leader ?? before?.leader };
    if (before === undefined) return;
    const { at, lost, leader } = snapshot;
    this.#tellUnmet(before, snapshot);
    for (const [number, worker] of lost) {
      if (before.lost.has(number)) continue;
      this.#put({
        at,
        seq: this.#seq,
        kind: 'worker lost',
        worker,
        describe: () => ({ text: `worker ${worker} fell silent` }),
      });
    }
    if (leader === undefined || before.leader === undefined || leader === before.leader) return;
    const text = `node ${leader} leads now, after ${before.leader}`;
    this.#put({ at, seq: this.#seq, kind: 'leader changed', describe: () => ({ text }) });
  }

  /** Told when it is so in two snapshots in a row: a worker that starts with its tasks is a moment late. */
  #tellUnmet({ unmet: before }: ClusterSnapshot, { at, unmet }: ClusterSnapshot): void {
    for (const test of this.#told) if (!unmet.has(test)) this.#told.delete(test);
    for (const [test, queues] of unmet) {
      if (!before.has(test) || this.#told.has(test)) continue;
      this.#told.add(test);
      const names = [...queues].sort().slice(0, MOST_QUEUES).join(', ');
      const text = `tasks of ${names} need ${requirementText(test)}, which no enabled worker has`;
      this.#put({ at, seq: this.#seq, kind: 'requirement unmet', describe: () => ({ text }) });
    }
  }

  /** The newest first. */
  list(): readonly Shown[] {
    return this.#kept.toReversed().map(({ describe, ...rest }) => ({ ...rest, ...describe() }));
  }

  /** Whether anything went wrong since then; a change of the leader does not count. */
  anySince(at: number): boolean {
    return this.#kept.some((one) => one.at >= at && one.kind !== 'leader changed');
  }

  #put(incident: KeptIncident): void {
    this.#kept.push(incident);
    if (this.#kept.length > this.#most) this.#kept.shift();
  }
}

function requirementText(test: string): string {
  return test.startsWith(CREDENTIAL) ? `the credential ${test.slice(CREDENTIAL.length)}` : `the tag ${test}`;
}

function kindOf({ change, state }: TaskEvent): Kind | undefined {
  if (state === 'failed') return 'failed';
  return change === 'expired' ? 'lease expired' : undefined;
}

function describeTask(kind: Kind, { queue, change, attempt }: TaskEvent): string {
  if (kind === 'lease expired') return `the lease of attempt ${attempt} in queue ${queue} ran out`;
  const ends: Partial<Record<TaskEvent['change'], string>> = {
    expired: ': its lease ran out, and it has no tries left',
    timed_out: ': it waited too long for its first start',
  };
  return `a task of queue ${queue} failed for good${ends[change] ?? ''}`;
}
