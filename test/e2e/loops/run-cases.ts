/** Runs as they are asked for: 1 to 6. */
import assert from 'node:assert/strict';
import { messagesOf, type Wire } from '../../support/node-scene.ts';
import { DONE, type LoopsScene, PIECE, WAIT } from './loops-scene.ts';

/** What a run must do, on each store and each link. */
export type Case = (scene: LoopsScene) => Promise<void>;

const NOBODY = '999999';

export const RUN_CASES: Readonly<Record<string, Case>> = {
  '1. what is created is listed and got, by its workspace, and an unknown id is not found': async (scene) => {
    const [one, other] = [scene.workspace([DONE]), scene.workspace([DONE])];
    const [first, second] = [await scene.start(one, [], { name: 'the first' }), await scene.start(other)];
    const listed = async (query: string): Promise<readonly string[]> =>
      (await scene.get(`/runs${query}`)).body.runs.map(({ id }: Wire) => id);
    assert.deepEqual(await listed(''), [second, first]);
    assert.deepEqual(await listed(`?workspace_root=${one.name}`), [first]);
    assert.deepEqual(await listed('?workspace_root=main/nothing'), []);
    const { id, name, workspace_root: root } = await scene.run(first);
    assert.deepEqual([id, name, root], [first, 'the first', one.name]);
    for (const path of [`/runs/${NOBODY}`, `/runs/${NOBODY}/steps`, `/runs/${NOBODY}/events`, `/runs/${NOBODY}/output`])
      assert.equal((await scene.get(path)).status, 404, path);
    for (const run of [first, second]) assert.equal((await scene.ended(run)).status, 'COMPLETED');
    assert.deepEqual(await listed('?status=COMPLETED'), [second, first]);
  },

  '2. pause, resume and cancel do what they say, and leave alone what has ended or is not there': async (scene) => {
    const place = scene.workspace([`${WAIT}; ${PIECE}`, DONE]);
    const id = await scene.start(place);
    await scene.until(() => place.has('up'), 'the agent works');
    assert.deepEqual([await scene.act(id, 'pause'), (await scene.run(id)).status], [204, 'RUNNING']);
    assert.equal(await scene.act(id, 'retry'), 400);
    place.write('go');
    await scene.becomes(id, 'PAUSED');
    assert.deepEqual(await scene.phases(id), ['implementation 1 SUCCEEDED']);
    const { worker } = (await scene.get(`/api/v1/tasks/${id}`)).body;
    assert.equal(worker, undefined, 'it holds no worker');
    assert.equal(await scene.act(id, 'resume'), 204);
    assert.equal((await scene.ended(id)).status, 'COMPLETED');
    for (const what of ['pause', 'resume', 'cancel', 'retry'] as const) {
      assert.equal(await scene.act(id, what), 400, `${what} of one that has ended`);
      assert.equal(await scene.act(NOBODY, what), 404, `${what} of nobody`);
    }
    assert.equal((await scene.run(id)).status, 'COMPLETED');
    const told = await scene.start(scene.workspace([WAIT]));
    await scene.becomes(told, 'RUNNING');
    assert.equal(await scene.act(told, 'cancel'), 204);
    assert.equal((await scene.ended(told)).status, 'CANCELED');
  },

  '3. events come as a stream, the history first, from any time on, with the steps, and end with the run': async (
    scene,
  ) => {
    const place = scene.workspace([`${WAIT}; ${PIECE}`, DONE]);
    const id = await scene.start(place);
    // Before anything has happened, and while it happens.
    const early = scene.stream(`/runs/${id}/events`);
    await scene.until(() => place.has('up'), 'the agent works');
    const during = messagesOf(await scene.fetch(`/runs/${id}/events`));
    const history = [await during.next(), await during.next(), await during.next()].map(({ value }) => value.event);
    assert.deepEqual(history, ['RUN_CREATED', 'RUN_STARTED', 'STEP_STARTED']);
    await during.return(undefined);
    place.write('go');
    const all = await early;
    const types = all.map(({ event }) => event);
    assert.deepEqual([types.slice(0, 3), types.at(-1)], [history, 'RUN_COMPLETED']);
    const steps = (await scene.steps(id)).map((step: Wire) => step.id);
    for (const type of ['STEP_STARTED', 'STEP_FINISHED'])
      assert.deepEqual(
        all.filter(({ event }) => event === type).map(({ data }) => data.step_id),
        steps,
      );
    assert.deepEqual(await scene.stream(`/runs/${id}/events`), all, 'and again when it is over');
    const fourth = all[3];
    const after = await scene.stream(`/runs/${id}/events?after=${fourth?.data.timestamp}`);
    assert.deepEqual(
      after,
      all.filter(({ data }) => data.timestamp >= fourth?.data.timestamp),
    );
    const rest = await scene.stream(`/runs/${id}/events`, { 'last-event-id': fourth?.id ?? '' });
    assert.deepEqual(rest, all.slice(4));
  },

  '4. the output is a stream of what is said, from any byte on, and ends with the run': async (scene) => {
    const place = scene.workspace([`echo "first words"; ${WAIT}; ${PIECE}`, DONE]);
    const id = await scene.start(place);
    const live = messagesOf(await scene.fetch(`/runs/${id}/output`));
    for await (const { data } of live) if (data.text.includes('first words')) break;
    place.write('go');
    await scene.ended(id);
    const messages = await scene.stream(`/runs/${id}/output`);
    const whole = messages.map(({ data }) => data.text).join('');
    assert.match(whole, /first words\npiece 1\n[\s\S]*<promise>COMPLETE<\/promise>\n/);
    const from = whole.indexOf('piece 1');
    const rest = await scene.stream(`/runs/${id}/output?offset=${from}`);
    assert.equal(rest.map(({ data }) => data.text).join(''), whole.slice(from));
    assert.deepEqual(await scene.stream(`/runs/${id}/output?offset=${messages.at(-1)?.id}`), []);
  },

  '5. without a token or with a wrong one nobody is let in, and whether it lives everybody may ask': async (scene) => {
    const id = await scene.start(scene.workspace([DONE]));
    const said = async (path: string, authorization: string): Promise<unknown> => {
      const { status, body } = await scene.get(path, { authorization });
      return [status, body.error];
    };
    for (const path of ['/runs', `/runs/${id}`, `/runs/${id}/steps`, `/runs/${id}/events`, `/runs/${id}/output`]) {
      assert.deepEqual(await said(path, ''), [401, 'missing auth token'], path);
      assert.deepEqual(await said(path, 'Bearer wrong'), [401, 'invalid auth token'], path);
    }
    for (const what of ['pause', 'resume', 'cancel', 'retry'])
      assert.equal((await scene.post(`/runs/${id}/${what}`, {}, { authorization: 'Bearer wrong' })).status, 401);
    assert.deepEqual((await scene.get('/health', { authorization: '' })).body, { status: 'ok' });
    assert.equal((await scene.ended(id)).status, 'COMPLETED', 'nobody has stopped it');
  },

  '6. a claim finds nothing or makes the run RUNNING, no more than allowed, and one that is given back makes room':
    async (scene) => {
      const worker = await scene.loopdWorker('claims', 'loop-root=claims');
      assert.equal((await worker('claim')).status, 204);
      await scene.ended(await scene.start(scene.workspace([DONE])));
      await scene.limit('loop.runs', { concurrent: 1 });
      const [first, second] = [
        await scene.start({ name: 'claims/a' }),
        await scene.start({ name: 'claims/b' }, ['reviewer=no']),
      ];
      const { body: steps } = await worker('claim', { max: 5, wait_ms: 30_000 });
      assert.deepEqual(
        steps.map(({ run_id, phase, attempt }: Wire) => [run_id, phase, attempt]),
        [[first, 'implementation', 1]],
      );
      const status = async (id: string): Promise<string> => (await scene.run(id)).status;
      assert.deepEqual([await status(first), await status(second)], ['RUNNING', 'PENDING']);
      assert.equal((await worker('claim', { max: 5 })).status, 204, 'the other one waits');
      const { task, attempt, lease_token: token } = steps[0];
      const lease = { task, attempt, token: token.split('.')[1] };
      await worker('ask', { asked: [{ type: 'task_release', n: 1, lease }] });
      assert.equal(await status(first), 'PENDING');
      assert.equal(await scene.act(first, 'cancel'), 204);
      const { body: next } = await worker('claim', { wait_ms: 30_000 });
      assert.deepEqual([next[0].run_id, await status(second)], [second, 'RUNNING']);
      assert.equal(await scene.act(second, 'cancel'), 204);
      const beat = { leases: [{ step_id: next[0].step_id, lease_token: next[0].lease_token }] };
      const told = await worker('heartbeat', beat);
      assert.deepEqual(
        told.body.cancel.map(({ step_id }: Wire) => step_id),
        [next[0].step_id],
      );
      const ended = { lease_token: next[0].lease_token, status: 'canceled' };
      assert.equal((await worker(`/steps/${next[0].step_id}/complete`, ended)).status, 200);
      assert.equal(await status(second), 'CANCELED');
      await scene.limit('loop.runs', { concurrent: null });
    },
};
