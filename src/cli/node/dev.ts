import { existsSync, globSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILTIN_NAMES } from '../../app/builtin-worker.ts';
import type { Service } from '../../app/serve.ts';
import { changed, loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { hostWorkerName } from '../../config/worker-name.ts';
import type { Display } from '../display/display.ts';
import type { Command } from '../kit/command.ts';
import { runNode } from './run-node.ts';
import { NODE_OPTIONS } from './up.ts';
import { workerOptions } from './worker-options.ts';

const FOLDER = 'tasks';
const PATTERN = `${FOLDER}/*.{ts,mts,js,mjs}`;
/** How often the folder is polled. File system events get lost when the folder itself is replaced, as by a change of branch. */
const POLL_MS = 300;

const SAMPLE = `import { task } from 'leasehold';

/** Try it: leasehold push hello '{"name":"you"}' --follow */
export const hello = task('hello', {
  async run(input, ctx) {
    const { name = 'world' } = (input ?? {}) as { name?: string };
    for (let step = 1; step <= 3; step++) {
      ctx.log(\`step \${step} of 3\`);
      ctx.progress({ done: step, of: 3 });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return { greeting: \`Hello, \${name}!\` };
  },
});
`;

/** `leasehold dev`: a node whose worker runs the tasks of a folder, reloaded after each change. */
export const dev: Command = {
  name: 'dev',
  doc: 'Run a node as "up" does, with the tasks of ./tasks/*.ts, loaded again whenever a file changes',
  options: NODE_OPTIONS.filter((key) => key !== 'worker'),
  examples: [
    { line: 'dev', does: 'makes ./tasks with a sample if there is none, and runs what is in it' },
    { line: 'dev --port 0 --slots 8', does: 'on any free port, eight tasks at a time' },
  ],
  run(args) {
    const config = loadConfig(dev, args);
    const made = makeSample();
    // The first load starts the worker.
    return runNode(changed(config, { worker: false }), (service, display) => {
      if (made) display.note(`Made ${FOLDER}/hello.ts. Try: npx leasehold push hello '{"name":"you"}' --follow`);
      return keepLoaded(service, display, config);
    });
  },
};

function makeSample(): boolean {
  if (existsSync(FOLDER)) return false;
  // What is in it runs here, so nobody else may write to it, whatever the umask is.
  mkdirSync(FOLDER, { mode: 0o755 });
  writeFileSync(join(FOLDER, 'hello.ts'), SAMPLE, { mode: 0o644 });
  return true;
}

/** Loads the folder now and after each change. An error is shown, and the tasks from before stay. */
function keepLoaded(service: Service, display: Display, config: Config): () => void {
  let loading = Promise.resolve();
  let loaded = false;
  const load = async (): Promise<void> => {
    const options = workerOptions(config, hostWorkerName());
    const files = globSync(PATTERN).toSorted();
    const started = performance.now();
    try {
      const handlers = await service.replaceWorker({ ...options, handlers: [...options.handlers, ...files] });
      loaded = true;
      const own = handlers.filter((name) => !BUILTIN_NAMES.includes(name));
      const ms = Math.round(performance.now() - started);
      display.note(`Loaded ${own.length === 0 ? `nothing from ${FOLDER}/` : own.join(', ')} in ${ms} ms.`);
    } catch (error) {
      display.warning(error instanceof Error ? error.message : String(error));
      // The built-in handlers work without the user's own files.
      if (!loaded) await service.replaceWorker(options).catch(() => {});
    }
  };
  let seen = fingerprintOf(FOLDER);
  let before = seen;
  loading = load();
  const timer = setInterval(() => {
    const now = fingerprintOf(FOLDER);
    // Unchanged for one poll: an editor writes a file in several steps.
    if (now !== seen && now === before) {
      seen = now;
      loading = loading.then(load);
    }
    before = now;
  }, POLL_MS);
  return () => clearInterval(timer);
}

/** The files with their times and sizes, as one text to compare. */
function fingerprintOf(folder: string): string {
  return globSync(`${folder}/**/*`)
    .toSorted()
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return `${path} ${stat?.mtimeMs} ${stat?.size}`;
    })
    .join('\n');
}
