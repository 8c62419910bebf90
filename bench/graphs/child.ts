/** One run of one graph, through the public library, in a process and on a store of its own. */
import { graphs, open, task } from '../../src/index.ts';
import { SHAPES } from './shapes.ts';

const [address = '', name = '', size = ''] = process.argv.slice(2);
const graph = SHAPES[name]?.make(Number(size));
if (graph === undefined) throw new Error(`there is no shape ${name}`);

const app = await open(address as 'memory:');
const step = task('s', { queue: 'graphs', run: ({ n }: { readonly n: number }) => ({ n }) });
await app.worker({ tasks: [graphs(), step], slots: 64 }).start();
const began = performance.now();
const used = process.cpuUsage();
const { id } = await app.runs.start({ graph, title: 'bench' });
await app.handle(id).result();
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(used);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000, mib: maxRSS / 1024 }));
await app.close({ drainMs: 0 });
process.exit(0);
