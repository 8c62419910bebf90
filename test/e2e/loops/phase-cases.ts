/** What a run goes through, and what ends it: 7, 11, 12 and 14. */
import assert from 'node:assert/strict';
import { isAlive } from '../../chaos/survivors.ts';
import type { Wire } from '../../support/node-scene.ts';
import { DONE, type LoopsScene, PIECE, TOKEN, WAIT } from './loops-scene.ts';
import type { Case } from './run-cases.ts';

const ONE = ['iterations=1', 'reviewer=no'];
const LIMIT = 'iteration_limit_reached:1';

/** A way to say it, and what comes of it: the end of the run, and what the watchdog saw. */
const SAID: readonly (readonly [how: string, turn: string, settings: readonly string[], seen: string | null])[] = [
  ['bare', `echo "${TOKEN}"`, ONE, null],
  ['with whitespace', `printf 'all is done\\n \\t${TOKEN} \\r\\n\\n \\n'`, ONE, null],
  ['in pieces', `printf '<promise>COMP'; sleep 0.1; printf 'LETE</promise>'`, ONE, null],
  ['not last', `echo "${TOKEN}"; echo "one more thing"`, ONE, 'malformed_complete'],
  ['within a line', `echo "I will say ${TOKEN} soon"`, ONE, 'malformed_complete'],
  ['nothing', ':', ONE, 'no_progress'],
  ['exactly, with whitespace', `printf '\\n ${TOKEN} \\n'`, [...ONE, 'completion_mode=exact'], null],
  ['exactly, after words', `echo "done"; echo "${TOKEN}"`, [...ONE, 'completion_mode=exact'], 'malformed_complete'],
];

async function endOf(scene: LoopsScene, turns: readonly string[], settings: readonly string[], reviews?: string) {
  const place = scene.workspace(turns, reviews);
  const id = await scene.start(place, settings);
  const { status, reason } = await scene.ended(id);
  return { id, place, end: [status, reason] };
}

export const PHASE_CASES: Readonly<Record<string, Case>> = {
  '7. phases follow each other, with and without a reviewer, back from a verification that failed, counted apart':
    async (scene) => {
      const whole = await endOf(scene, [PIECE, DONE], ['verify_cmds=test -e n']);
      assert.deepEqual(await scene.phases(whole.id), [
        'implementation 1 SUCCEEDED',
        'review 1 SUCCEEDED',
        'verification 1 SUCCEEDED',
        'implementation 2 SUCCEEDED',
        'review 2 SUCCEEDED',
        'verification 2 SUCCEEDED',
        'merge 1 SUCCEEDED',
      ]);
      const without = await endOf(scene, [DONE], ['reviewer=no', 'verify_cmds=test "$(cat n)" -ge 3']);
      assert.deepEqual(without.end, ['COMPLETED', null]);
      assert.deepEqual(await scene.phases(without.id), [
        'implementation 1 SUCCEEDED',
        'verification 1 FAILED',
        'implementation 2 SUCCEEDED',
        'verification 2 FAILED',
        'implementation 3 SUCCEEDED',
        'verification 3 SUCCEEDED',
        'merge 1 SUCCEEDED',
      ]);
    },

  '11. no commands pass; all of them run after one has failed; notes are in the next prompt, and gone when all passes':
    async (scene) => {
      const none = await endOf(scene, [DONE], ['reviewer=no']);
      const [, verified] = await scene.steps(none.id);
      assert.deepEqual([verified.phase, verified.status, verified.exit_code], ['verification', 'SUCCEEDED', 0]);
      const commands = 'test -e mended || { echo it is broken; exit 4; }|echo second >> ran';
      const { id, place, end } = await endOf(
        scene,
        [PIECE, `touch mended; ${PIECE}`, DONE],
        ['reviewer=no', `verify_cmds=${commands}`],
      );
      assert.deepEqual(end, ['COMPLETED', null]);
      const [, failed] = await scene.steps(id);
      assert.deepEqual([failed.status, failed.exit_code], ['FAILED', 4]);
      assert.match(failed.output, /it is broken/);
      assert.equal(place.read('ran'), 'second\n'.repeat(3));
      assert.match(place.read('prompt.2'), /exit code 4\nit is broken/);
      for (const prompt of ['prompt.1', 'prompt.3']) assert.doesNotMatch(place.read(prompt), /it is broken/);
    },

  '12. the token completes a run where it counts, and nowhere else': async (scene) => {
    const ends = await Promise.all(SAID.map(([, turn, settings]) => endOf(scene, [turn], settings)));
    for (const [i, { id, end }] of ends.entries()) {
      const [how, , , seen] = SAID[i] as (typeof SAID)[number];
      assert.deepEqual(end, seen === null ? ['COMPLETED', null] : ['FAILED', LIMIT], how);
      const rewrites = (await scene.stream(`/runs/${id}/events`)).filter(({ event }) => event === 'WATCHDOG_REWRITE');
      assert.deepEqual(
        rewrites.map(({ data }: Wire) => data.payload.signal),
        seen === null ? [] : [seen],
        how,
      );
    }
  },

  '11. a verification whose worker dies is done again, on what stands there, and nothing is left of the first': async (
    scene,
  ) => {
    const place = scene.workspace([DONE]);
    const check = 'echo $$ >> checks; [ "$(wc -l < checks)" -gt 1 ] || { touch up; sleep 300; }';
    const id = await scene.start(place, ['reviewer=no', `verify_cmds=${check}`]);
    await scene.until(() => place.has('up'), 'the command runs');
    await scene.killWorker();
    assert.equal((await scene.ended(id)).status, 'COMPLETED');
    const [first = '', second, ...more] = place.read('checks').trim().split('\n');
    assert.ok(second !== undefined && more.length === 0, 'it ran twice');
    await scene.until(() => !isAlive(Number(first)), 'the first one, which sleeps on, is gone');
    assert.equal(place.asked, 1, 'the agent is not asked again');
    assert.equal((await scene.steps(id)).length, 3);
  },

  '2. a run is cancelled in a review, in a verification and while it is paused, and goes on there when it is tried again':
    async (scene) => {
      const hang = 'if [ ! -e go ]; then echo $$ > pid; touch up; sleep 300; fi';
      const ways = {
        review: [['iterations=3'], hang],
        verification: [['reviewer=no', `verify_cmds=${hang}`], undefined],
      } as const;
      for (const [phase, [settings, reviews]] of Object.entries(ways)) {
        const place = scene.workspace([DONE], reviews);
        const id = await scene.start(place, settings);
        await scene.until(() => place.has('up'), phase);
        assert.equal(await scene.act(id, 'cancel'), 204);
        assert.equal((await scene.ended(id)).status, 'CANCELED');
        assert.ok(!isAlive(Number(place.read('pid'))), 'nothing of it is left');
        assert.deepEqual(await scene.phases(id), ['implementation 1 SUCCEEDED', `${phase} 1 CANCELED`]);
        place.write('go');
        assert.equal(await scene.act(id, 'retry'), 204);
        assert.deepEqual([(await scene.ended(id)).status, place.asked], ['COMPLETED', 1]);
      }
      const place = scene.workspace([`${WAIT}; ${PIECE}`, DONE]);
      const id = await scene.start(place, ['reviewer=no']);
      await scene.until(() => place.has('up'), 'the agent works');
      assert.equal(await scene.act(id, 'pause'), 204);
      place.write('go');
      await scene.becomes(id, 'PAUSED');
      assert.equal(await scene.act(id, 'cancel'), 204);
      assert.equal((await scene.ended(id)).status, 'CANCELED');
      assert.equal(await scene.act(id, 'resume'), 400);
      assert.equal(await scene.act(id, 'retry'), 204);
      assert.deepEqual([(await scene.ended(id)).status, place.asked], ['COMPLETED', 2]);
    },

  '14. failures in a row end a run: a success ends the row, phases have rows of their own, and 0 is no bound': async (
    scene,
  ) => {
    const [piece, most] = [[PIECE, PIECE, PIECE, DONE], 'max_consecutive_verification_failures='];
    const reviewed = ['max_consecutive_review_failures=2', `${most}2`];
    const ends = await Promise.all([
      endOf(scene, [PIECE], ['reviewer=no', `${most}2`, `verify_cmds=${failing(2, 3)}`]),
      endOf(scene, piece, ['reviewer=no', `${most}2`, `verify_cmds=${failing(1, 3)}`]),
      endOf(scene, piece, ['reviewer=no', `${most}0`, `verify_cmds=${failing(1, 2, 3)}`]),
      endOf(scene, [PIECE, DONE], [...reviewed, `verify_cmds=${failing(1)}`], failing(1)),
      endOf(scene, [PIECE], reviewed, failing(2, 3)),
    ]);
    assert.deepEqual(
      ends.map(({ end, place }) => [...end, place.asked]),
      [
        ['FAILED', 'consecutive_verification_failures:2', 3],
        ['COMPLETED', null, 4],
        ['COMPLETED', null, 4],
        ['COMPLETED', null, 2],
        ['FAILED', 'consecutive_review_failures:2', 3],
      ],
    );
  },

  '14. failures in a row are counted on by whoever goes on after a kill': async (scene) => {
    const place = scene.workspace([PIECE, WAIT, PIECE]);
    const settings = ['reviewer=no', 'iterations=4', 'max_consecutive_verification_failures=2', 'verify_cmds=false'];
    const id = await scene.start(place, settings);
    await scene.until(() => place.has('up'), 'the second implementation is under way');
    await scene.killWorker();
    const { status, reason } = await scene.ended(id);
    assert.deepEqual([status, reason], ['FAILED', 'consecutive_verification_failures:2']);
    assert.equal(place.asked, 3, 'the phase that was cut off was done again');
    assert.deepEqual(await scene.phases(id), [
      'implementation 1 SUCCEEDED',
      'verification 1 FAILED',
      'implementation 2 SUCCEEDED',
      'verification 2 FAILED',
    ]);
  },
};

/** A command that fails while the agent was asked so often. */
const failing = (...asked: readonly number[]): string =>
  `for n in ${asked.join(' ')}; do test "$(cat n)" != $n || exit 1; done; echo "I looked at piece $(cat n)"`;
