import { join } from 'node:path';

const SQLITE = 'store/sqlite/open.ts';
const POSTGRES = 'store/postgres/open.ts';

/**
 * What is loaded together, by what begins it. A module of several of these is in a file with others of the same ones, so that a
 * start opens a handful of files and none that it does not need.
 */
const STARTS: Readonly<Record<string, readonly string[]>> = {
  cli: [
    'cli/main.ts',
    'cli/tasks/push.ts',
    'cli/tasks/list.ts',
    'cli/kit/own-folder.ts',
    'app/node-file.ts',
    'app/admin-token.ts',
    'app/operate-node.ts',
    'app/data/data-folder.ts',
  ],
  store: ['app/operate.ts', SQLITE],
  library: ['index.ts', SQLITE],
  child: ['worker/runner/child/child.ts', 'worker/handlers/builtin.ts'],
};
/** The same for what only these load: each is whole. */
const LARGE: Readonly<Record<string, readonly string[]>> = {
  // Nodes and the hooks of loops share these: with the node, a run within the process would load all of it.
  loop: ['flow/loop/decide.ts', 'flow/loop/loop-input.ts', 'flow/loop/prompts.ts', 'flow/loop/retry.ts'],
  worker: ['cli/node/worker.ts'],
  remote: ['app/remote/remote-worker.ts', 'app/remote/remote-app.ts', 'app/remote/updater-link.ts'],
  postgres: [POSTGRES],
  server: ['cli/node/up.ts', 'cli/node/dev.ts'],
  run: ['cli/machines/run.ts'],
};

/** Of two adapters a process opens one: what only the first needs is a file of its own. */
const ADAPTER = { name: 'sqlite', of: [SQLITE], others: ['app/operate.ts', 'index.ts', POSTGRES] } as const;

interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

/** Names the file of each module; null: the bundler decides. Entries have files of their own: to load one is to run it. */
export function chunkNames(src: string, entries: readonly string[]): (id: string, graph: Graph) => string | null {
  let starts: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  let large: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  let adapter: ReadonlySet<string> | undefined;
  const alone = new Set(entries.map((file) => join(src, file)));
  return (id, graph) => {
    starts ??= closuresOf(STARTS, src, graph);
    large ??= closuresOf(LARGE, src, graph);
    adapter ??= idsOf(ADAPTER.of, src, graph).difference(idsOf(ADAPTER.others, src, graph));
    if (alone.has(id)) return null;
    const inside = /[\\/]node_modules[\\/](zod|yaml)[\\/]/.exec(id)?.[1];
    if (inside !== undefined) return inside;
    if (adapter.has(id)) return ADAPTER.name;
    const name = sharedName(namesOf(id, starts));
    const [other] = namesOf(id, large);
    // The rest of what children load is of no use to a worker that has not started one.
    if (name === 'child' && other === 'worker') return 'library-child';
    return name ?? other ?? null;
  };
}

/** What commands share with anything is little, and so is what all but them share: one file is cheaper to open than three. */
function sharedName(starts: readonly string[]): string | undefined {
  if (starts.length < 2) return starts[0];
  return starts.includes('cli') || starts.length === 3 ? 'core' : starts.join('-');
}

function namesOf(id: string, closures: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  return [...closures].filter(([, ids]) => ids.has(id)).map(([name]) => name);
}

function closuresOf(
  starts: Readonly<Record<string, readonly string[]>>,
  src: string,
  graph: Graph,
): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(Object.entries(starts).map(([name, files]) => [name, idsOf(files, src, graph)]));
}

function idsOf(files: readonly string[], src: string, graph: Graph): ReadonlySet<string> {
  return closureOf(
    files.map((file) => join(src, file)),
    graph,
  );
}

/** These modules and all that they import, without what they load later. */
function closureOf(ids: readonly string[], graph: Graph): ReadonlySet<string> {
  const seen = new Set(ids);
  for (const id of seen) {
    const info = graph.getModuleInfo(id);
    if (info === null) throw new Error(`there is no ${id}`);
    for (const imported of info.importedIds) if (isAbsoluteId(imported)) seen.add(imported);
  }
  return seen;
}

function isAbsoluteId(id: string): boolean {
  return id.startsWith('/') || /^[A-Za-z]:[\\/]/.test(id);
}
