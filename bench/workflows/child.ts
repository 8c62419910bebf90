/** One round of `npm run bench:workflows` in a process of its own, through the public library. Prints one line of JSON. */
import { open, task, workflow } from '../../src/index.ts';

const [address = '', what = ''] = process.argv.slice(2);

const RUNS = 64;
const STEPS = 100;
const ALONE = 500;
const CHILDREN = 1000;
const BRANCHES = 8;
/** 300 bytes, of which nothing repeats that a database could pack. */
const value = (): string => Array.from({ length: 30 }, () => Math.random().toString(36).slice(2, 12)).join('');

const child = task('child', { run: () => null });
const handler = task('handler', {
  async run(count: number, ctx) {
    for (let i = 0; i < count; i++) await ctx.step('one', value);
  },
});
const row = workflow('row', async (count: number, wf) => {
  for (let i = 0; i < count; i++) await wf.step('one', value);
});
const branches = workflow('branches', async (count: number, wf) => {
  const branch = async (): Promise<void> => {
    for (let i = 0; i < count / BRANCHES; i++) await wf.step('one', value);
  };
  await Promise.all(Array.from({ length: BRANCHES }, branch));
});
const fanOut = workflow('fan-out', async (count: number, wf) => {
  await wf.map(
    Array.from({ length: count }, (_, i) => i),
    child,
    { window: 100 },
  );
});

const SCENES = {
  handler: { definition: handler, runs: RUNS, each: STEPS },
  row: { definition: row, runs: RUNS, each: STEPS },
  branches: { definition: branches, runs: RUNS, each: STEPS + (BRANCHES - (STEPS % BRANCHES)) },
  alone: { definition: row, runs: 1, each: ALONE },
  children: { definition: fanOut, runs: 1, each: CHILDREN },
} as const;

const { definition, runs, each } = SCENES[what as keyof typeof SCENES];
const app = await open(address);
const worker = app.worker({ tasks: [child, handler, row, branches, fanOut], slots: RUNS });
await worker.start();
// What is compiled and prepared by it is the same for all.
await (await app.push(definition, BRANCHES)).result();
const from = performance.now();
const cpu = process.cpuUsage();
const handles = await app.pushMany(
  definition,
  Array.from({ length: runs }, () => each),
);
await Promise.all(handles.map((handle) => handle.result()));
const seconds = (performance.now() - from) / 1000;
const used = process.cpuUsage(cpu);
await app.close();
console.log(JSON.stringify({ rate: (runs * each) / seconds, cpuMicros: (used.user + used.system) / (runs * each) }));
