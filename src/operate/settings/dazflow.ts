import type { Entry } from '../../core/settings/compare.ts';
import type { WorkerView } from '../views.ts';
import type { SettingsReader } from './settings-file.ts';

/** The files of dazflow, by their names. */
export const DAZFLOW_FILES = ['agents.json', 'tags.json', 'concurrency_groups.json'] as const;
export type DazflowFile = (typeof DAZFLOW_FILES)[number];

/** What such a file says of an agent; its permissions here are nothing that dazflow knows, and stay. */
const OF_AGENT = ['enabled', 'priority', 'tags'] as const;

export function dazflowFileOf(file: string): DazflowFile | undefined {
  const name = file.replace(/^.*[\\/]/, '');
  return DAZFLOW_FILES.find((one) => one === name);
}

/**
 * Reads a file of dazflow. Of an agent its name, switch, priority and tags are taken: whether it is online and what it has done is known here
 * by itself, and a hash of a secret lets nobody in.
 */
export function addDazflowFile(reader: SettingsReader, file: string, name: DazflowFile, value: unknown): void {
  if (name === 'tags.json') reader.addKind(file, 'tags', value);
  else if (name === 'concurrency_groups.json') reader.addKind(file, 'limits', value);
  else reader.addKind(file, 'workers', agentsIn(value), OF_AGENT);
}

function agentsIn(value: unknown): unknown {
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, agent]) => {
      if (!isMap(agent)) return [[name, agent]];
      const said = OF_AGENT.flatMap((field) => (agent[field] === undefined ? [] : ([[field, agent[field]]] as const)));
      const { priority, ...rest } = Object.fromEntries(said);
      // Every worker has priority 0 that says none.
      const entry = priority === undefined || priority === 0 ? rest : { ...rest, priority };
      const isBuiltIn = name === 'built-in' && rest['enabled'] !== false && priority === 0 && isEmpty(rest['tags']);
      return isBuiltIn ? [] : [[name, entry]];
    }),
  );
}

/** The same files, of what is there. */
export function dazflowFiles(
  workers: readonly WorkerView[],
  settings: { readonly [K in 'tags' | 'limits' | 'workers']: ReadonlyMap<string, Entry> },
): { readonly [F in DazflowFile]: unknown } {
  const names = [...new Set([...workers.map(({ name }) => name), ...settings.workers.keys()])].sort();
  const agents = names.map((name) => {
    const process = workers.findLast((worker) => worker.name === name);
    const { enabled = true, priority, tags = [] } = (settings.workers.get(name) ?? {}) as Agent;
    return [
      name,
      {
        name,
        enabled,
        priority: priority ?? process?.priority ?? 0,
        tags: [...new Set([...tags, ...(process?.tags ?? [])])].filter((tag) => !tag.startsWith('credential:')).sort(),
        status: process?.state === 'online' ? 'online' : 'offline',
        last_seen: process === undefined ? null : new Date(process.lastSeenAt).toISOString(),
        ip_address: process?.address ?? null,
        version: process?.version ?? null,
        total_tasks: process?.totalTasks ?? 0,
      },
    ] as const;
  });
  return {
    'agents.json': Object.fromEntries(agents),
    'tags.json': [...settings.tags.keys()],
    'concurrency_groups.json': Object.fromEntries(
      [...settings.limits].flatMap(([name, { concurrent }]) =>
        concurrent === undefined ? [] : [[name, { limit: concurrent }]],
      ),
    ),
  };
}

interface Agent {
  readonly enabled?: boolean;
  readonly priority?: number;
  readonly tags?: readonly string[];
}

const isEmpty = (tags: unknown): boolean => tags === undefined || (Array.isArray(tags) && tags.length === 0);

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
