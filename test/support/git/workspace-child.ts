/** A worker that prepares one workspace and says so. Its parent kills it. */
import { WorkspaceResolver } from '../../../src/workspace/resolver.ts';
import { TIMERS } from './scratch.ts';

const { folder, spec, task } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly folder: string;
  readonly spec: Parameters<WorkspaceResolver['prepare']>[0];
  readonly task: string;
};
const resolver = new WorkspaceResolver({
  folder,
  roots: new Map(),
  protocols: ['http'],
  clock: { wall: () => Date.now() },
  timers: TIMERS,
});
await resolver.prepare(spec, { task, attempt: 1 });
process.stdout.write('ready\n');
setInterval(() => {}, 1000);
