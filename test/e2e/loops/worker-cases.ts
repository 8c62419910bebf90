/** Who gets which run and when, and how its agents are run: 8 to 10. */
import assert from 'node:assert/strict';
import { isAlive } from '../../chaos/survivors.ts';
import { DONE, type LoopsScene, PIECE, WAIT, type Workspace } from './loops-scene.ts';
import type { Case } from './run-cases.ts';

const BARE = ['reviewer=no'];

/** An agent with a child that hears of no polite signal. */
const HANG = 'echo $$ > pid; (trap "" TERM; sleep 300) & echo $! > child; touch up; wait';

/** Nothing of the agent is left. */
function isGone(place: Workspace): boolean {
  return ['pid', 'child'].every((file) => !isAlive(Number(place.read(file))));
}

/** The order in which runs begin that have waited while another one had the only place. */
async function orderOf(
  scene: LoopsScene,
  settings: readonly string[],
  where: 'one workspace' | 'several',
): Promise<readonly number[]> {
  const first = scene.workspace([`${WAIT}; ${DONE}`]);
  const holding = await scene.start(first, BARE);
  await scene.until(() => first.has('up'), 'the only place is taken');
  const ids: string[] = [];
  const one = scene.workspace([DONE]);
  for (let n = 0; n < 3; n++)
    ids.push(await scene.start(where === 'several' ? scene.workspace([DONE]) : one, [...BARE, ...settings]));
  first.write('go');
  for (const id of [holding, ...ids]) assert.equal((await scene.ended(id)).status, 'COMPLETED');
  const began = async (id: string): Promise<number> => {
    const [, started] = await scene.stream(`/runs/${id}/events`);
    assert.equal(started?.event, 'RUN_STARTED');
    return started?.data.timestamp;
  };
  const times = await Promise.all(ids.map(began));
  return [0, 1, 2].toSorted((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
}

export const WORKER_CASES: Readonly<Record<string, Case>> = {
  '8. a workspace has one run at a time, others go on, an end makes room, and without a bound there is none': async (
    scene,
  ) => {
    const [shop, other] = [scene.workspace([`${WAIT}; ${DONE}`]), scene.workspace([DONE])];
    const first = await scene.start(shop, BARE);
    await scene.until(() => shop.has('up'), 'the first one works');
    const second = await scene.start(shop, BARE);
    assert.equal((await scene.ended(await scene.start(other, BARE))).status, 'COMPLETED');
    const now = [(await scene.run(first)).status, (await scene.run(second)).status, shop.asked];
    assert.deepEqual(now, ['RUNNING', 'PENDING', 1]);
    shop.write('go');
    for (const id of [first, second]) assert.equal((await scene.ended(id)).status, 'COMPLETED');
    await scene.limit('loop.workspace', { perKey: null });
    const free = scene.workspace([`touch "up.$n"; until [ -e go ]; do sleep 0.02; done; ${DONE}`]);
    const both = [await scene.start(free, BARE), await scene.start(free, BARE)];
    for (const id of both) await scene.becomes(id, 'RUNNING');
    free.write('go');
    for (const id of both) assert.equal((await scene.ended(id)).status, 'COMPLETED');
    await scene.limit('loop.workspace', { perKey: 1 });
  },

  '9. the oldest run goes first, or the newest where that is the policy': async (scene) => {
    await scene.limit('loop.runs', { concurrent: 1 });
    // Of several workspaces equals are lanes of their own, which take turns.
    assert.deepEqual(await orderOf(scene, [], 'one workspace'), [0, 1, 2], 'by default');
    assert.deepEqual(await orderOf(scene, ['queue_policy=fifo'], 'one workspace'), [0, 1, 2]);
    for (const where of ['one workspace', 'several'] as const)
      assert.deepEqual(await orderOf(scene, ['queue_policy=newest_first'], where), [2, 1, 0], where);
    await scene.limit('loop.runs', { concurrent: null });
  },

  '10. an agent is asked again as often as it is said, is ended when it takes too long, and at once by a cancel':
    async (scene) => {
      const broken = 'echo "I am broken" >&2; exit 3';
      const passing = 'echo "API Error: 503 Service Unavailable" >&2; exit 1';
      const asked = async (turns: readonly string[], settings: readonly string[]) => {
        const place = scene.workspace(turns);
        const id = await scene.start(place, [...BARE, ...settings]);
        const { status, reason } = await scene.ended(id);
        return { place, said: [status, place.asked], reason, steps: await scene.steps(id) };
      };
      const [mended, exhausted, once, passed, late] = await Promise.all([
        asked([broken, broken, DONE], ['claude_retries=2']),
        asked([broken], ['claude_retries=2']),
        asked([broken], ['claude_retries=0']),
        asked([passing, passing, passing, passing, DONE], ['claude_retries=0']),
        asked([HANG], ['claude_timeout_sec=1', 'claude_retries=0']),
      ]);
      assert.deepEqual(
        [mended, exhausted, once, passed, late].map(({ said }) => said),
        [
          ['COMPLETED', 3],
          ['FAILED', 3],
          ['FAILED', 1],
          ['COMPLETED', 5],
          ['FAILED', 1],
        ],
      );
      assert.equal(mended.steps[0].attempt, 1, 'all tries are one phase');
      for (const { reason, steps } of [exhausted, once]) {
        assert.match(reason, /^implementation_failed: .*I am broken/);
        assert.deepEqual([steps.length, steps[0].exit_code], [1, 3]);
      }
      assert.match(late.reason, /^implementation_failed: TimeoutError/);
      assert.ok(isGone(late.place), 'nothing of it is left');

      const place = scene.workspace([HANG, PIECE]);
      const id = await scene.start(place, [...BARE, 'claude_retries=5']);
      await scene.until(() => place.has('up'), 'the agent works');
      assert.equal(await scene.act(id, 'cancel'), 204);
      assert.equal((await scene.ended(id)).status, 'CANCELED');
      assert.ok(isGone(place), 'nothing of it is left');
      assert.equal(place.asked, 1, 'what was cancelled is not tried again');
    },
};
