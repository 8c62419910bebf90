/** A node that looks after triggers, and dies where its test says: before the commit of a firing, after it, or when it is killed. */
import { openNode } from '../../../src/app/node.ts';
import { FileTriggers } from '../../../src/app/triggers/file-triggers.ts';
import type { ReactionAnswer, ReactionFiring } from '../../../src/store/store.ts';
import { say } from '../parent.ts';

const [url, where, folder] = process.argv.slice(2) as [string, 'before' | 'after' | 'never', string];
/** The firing at which it dies: not always the first, so that some of its commits stand. */
const AT = 1 + Math.floor(Math.random() * 2);

const node = await openNode(url, { dutyMs: 600, pollMs: 50, leaseMs: 500 });
const { engine } = node;
const store = engine.store as { reactionFire: (firing: ReactionFiring) => Promise<ReactionAnswer> };
const fire = store.reactionFire.bind(store);
let firings = 0;
store.reactionFire = async (firing) => {
  const last = firing.deliveries.length > 0 && ++firings === AT;
  if (last && where === 'before') process.kill(process.pid, 'SIGKILL');
  const answer = await fire(firing);
  if (last && where === 'after') process.kill(process.pid, 'SIGKILL');
  return answer;
};
const silent = { info: () => {}, warn: () => {}, error: () => {} };
new FileTriggers({ engine, log: silent, roots: [folder], node: undefined }).start();
// Otherwise nothing keeps it.
setInterval(() => {}, 60_000);
say({ word: 'ready' });
