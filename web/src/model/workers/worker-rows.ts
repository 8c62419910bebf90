/** The rows of the list of workers: every living process, and for a name without one its last process or its settings. */

interface Process {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly enabled: boolean;
  readonly priority: number;
  readonly tags: readonly string[];
  readonly lastSeenAt: number;
}

interface Setting {
  readonly name: string;
  readonly enabled: boolean;
  readonly priority?: number | undefined;
  readonly tags: readonly string[];
}

export interface WorkerRow<P extends Process = Process> {
  readonly key: string;
  readonly name: string;
  readonly worker: P | undefined;
  readonly enabled: boolean;
  readonly priority: number | undefined;
  readonly tags: readonly string[];
}

const ORDER = ['online', 'starting', 'draining', 'lost', 'offline'];
const rankOf = (state: string): number => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);
const isAlive = ({ state }: Process): boolean => rankOf(state) < rankOf('lost');

export function workerRows<P extends Process>(
  workers: readonly P[],
  absent: readonly Setting[],
): readonly WorkerRow<P>[] {
  const living = new Set(workers.filter(isAlive).map(({ name }) => name));
  const last = new Map<string, P>();
  for (const worker of workers) {
    const known = last.get(worker.name);
    if (known === undefined || worker.lastSeenAt > known.lastSeenAt) last.set(worker.name, worker);
  }
  const shown = workers.filter(
    (worker) => isAlive(worker) || (!living.has(worker.name) && last.get(worker.name) === worker),
  );
  const names = new Set(shown.map(({ name }) => name));
  const processes = shown
    .toSorted((a, b) => rankOf(a.state) - rankOf(b.state) || b.priority - a.priority || (a.name < b.name ? -1 : 1))
    .map((worker) => rowOf(worker.id, worker, worker));
  const settings = absent
    .filter(({ name }) => !names.has(name))
    .map((setting) => rowOf<P>(`name ${setting.name}`, setting, undefined));
  return [...processes, ...settings];
}

function rowOf<P extends Process>(
  key: string,
  { name, enabled, priority, tags }: Setting,
  worker: P | undefined,
): WorkerRow<P> {
  return { key, name, worker, enabled, priority, tags };
}

export function matchesSearch<P extends Process & { readonly host?: string | undefined }>(
  row: WorkerRow<P>,
  word: string,
): boolean {
  const text = `${row.name} ${row.worker?.state ?? 'offline'} ${row.worker?.host ?? ''} ${row.tags.join(' ')}`;
  return text.toLowerCase().includes(word.trim().toLowerCase());
}
