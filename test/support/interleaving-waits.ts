/** Parks, signals, remembered values and kept results that meet: a wake-up is neither lost nor told twice, in whatever order their statements run. */
import type { Lease } from '../../src/core/task/lease.ts';
import { DAY, type Scene } from '../../src/store/conformance/kit/scene.ts';
import { type ParkItem, parkAll, rememberAll } from '../../src/store/conformance/kit/turning.ts';
import type { Grant, NewSignal } from '../../src/store/store.ts';
import type { Act } from './interleaving.ts';
import {
  both,
  type Case,
  cancel,
  claim,
  giveBack,
  overdue,
  prune,
  reap,
  renew,
  revive,
  settle,
  stage,
  twice,
  write,
} from './interleaving-verbs.ts';

const park = (name: string, { task, attempt }: Lease, what: Partial<ParkItem> = { channel: 'c' }): Act => ({
  name,
  act: (store) => parkAll(store, [{ key: 'k', ...what, task, attempt }]),
});

const signal = (name: string, more: Partial<NewSignal> = {}): Act => ({
  name,
  act: (store) => store.signalSend({ items: [{ channel: 'c', body: `"${name}"`, ...more }] }),
});

const remember = (name: string, { task, attempt }: Lease, value = '1'): Act => ({
  name,
  act: (store) => rememberAll(store, [{ task, attempt, key: 'k', value }]),
});

const keep = (name: string, { task, attempt }: Lease): Act => ({
  name,
  act: (store) => store.resultKeep({ items: [{ task, attempt, key: 'k', maxAgeMs: DAY, value: `"${name}"` }] }),
});

/** A task that waits on the channel. */
async function waiter(scene: Scene, what: Partial<ParkItem> = { channel: 'c' }): Promise<Grant> {
  const grant = await scene.running({ queue: 'waiters' });
  const { task, attempt } = grant;
  await parkAll(scene.store, [{ key: 'k', ...what, task, attempt }]);
  await scene.pass(1);
  return grant;
}

const kept = (scene: Scene, body = '"kept"'): Promise<unknown> =>
  scene.store.signalSend({ items: [{ channel: 'c', body }] });

export const WAITS: Readonly<Record<string, Case>> = {
  'park × signal': both(async (scene) => [park('park', await scene.running()), signal('signal')]),
  'park × broadcast': both(async (scene) => {
    return [park('park', await scene.running()), signal('signal', { broadcast: true })];
  }),
  'park × signal, while another one waits': both(async (scene) => {
    await waiter(scene);
    return [park('park', await scene.running()), signal('signal')];
  }),
  'park × park for one signal that was kept': both(async (scene) => {
    const [one, two] = [await scene.running(), await scene.running()];
    await kept(scene);
    return [park('one', one), park('two', two)];
  }),
  'park × park of one attempt': twice(async (scene) => {
    const grant = await scene.running();
    await kept(scene);
    return (name) => park(name, grant);
  }),
  'park × park of one attempt, for a time': twice(async (scene) => {
    const grant = await scene.running();
    return (name) => park(name, grant, { timeoutMs: 5 });
  }),
  'park × prune of the signal that was kept': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      await kept(scene);
      await scene.pass(5);
      await kept(scene, '"younger"');
      const { from: _, ...whole } = prune('prune', duty, 4);
      return [park('park', await scene.running()), { ...whole, from: /^pruneSignals/ }];
    },
    { forgets: true, faults: [0] },
  ),
  'park × settle': both(async (scene) => {
    const grant = await scene.running();
    return [park('park', grant), settle('settle', grant)];
  }),
  'park × return': both(async (scene) => {
    const grant = await scene.running();
    return [park('park', grant), giveBack('return', grant)];
  }),
  'park × renew': both(async (scene) => {
    const grant = await scene.running();
    return [park('park', grant), renew(grant)];
  }),
  'park × log': both(async (scene) => {
    const grant = await scene.running();
    return [park('park', grant), write('log', grant)];
  }),
  'park × cancel': both(async (scene) => {
    const grant = await scene.running();
    return [park('park', grant), cancel('cancel', grant.task)];
  }),
  'park × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [park('park', grant), reap('reap', duty, grant)];
  }),
  'park × stage of its time': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const grant = await scene.running();
    return [park('park', grant, { timeoutMs: 0 }), stage('stage', duty)];
  }),
  'park for a child × its end': both(
    async (scene) => {
      const child = await scene.running({ queue: 'children' });
      const grant = await scene.running();
      return [park('park', grant, { children: [child.task] }), settle('settle', child)];
    },
    {
      vague:
        'a first sending may have found that somebody waits for it, and done nothing: its repeat is then the first',
    },
  ),
  'park for a child × its cancellation': both(async (scene) => {
    const child = await scene.push({ queue: 'children' });
    const grant = await scene.running();
    return [park('park', grant, { children: [child] }), cancel('cancel', child)];
  }),
  'park × park for one child': both(async (scene) => {
    const child = await scene.push({ queue: 'children' });
    const [one, two] = [await scene.running(), await scene.running()];
    const what = { children: [child] };
    return [park('one', one, what), park('two', two, what)];
  }),
  'park × park that together would close a circle of four': both(async (scene) => {
    const [a, b, c, d] = [await scene.running(), await scene.running(), await scene.running(), await scene.running()];
    await parkAll(scene.store, [{ key: 'k', task: a.task, attempt: a.attempt, children: [b.task] }]);
    await parkAll(scene.store, [{ key: 'k', task: c.task, attempt: c.attempt, children: [d.task] }]);
    return [park('b', b, { children: [c.task] }), park('d', d, { children: [a.task] })];
  }),
  'signal × end of the child, for one that waits for both': both(async (scene) => {
    const child = await scene.running({ queue: 'children' });
    await waiter(scene, { channel: 'c', children: [child.task] });
    return [signal('signal'), settle('settle', child)];
  }),

  'signal × signal for one that waits': both(async (scene) => {
    await waiter(scene);
    return [signal('one'), signal('two')];
  }),
  'signal × signal for two that wait': both(async (scene) => {
    await waiter(scene);
    await waiter(scene);
    return [signal('one'), signal('two')];
  }),
  'signal × signal of one operation': twice(async (scene) => {
    await waiter(scene);
    await waiter(scene);
    return (name) => signal(name, { op: 'o', body: '1' });
  }),
  'signal × broadcast': both(async (scene) => {
    await waiter(scene);
    await waiter(scene);
    return [signal('one'), signal('all', { broadcast: true })];
  }),
  'signal × cancel of who waits': both(async (scene) => {
    const { task } = await waiter(scene);
    return [signal('signal'), cancel('cancel', task)];
  }),
  'signal × cancel of the first that waits': both(async (scene) => {
    const { task } = await waiter(scene);
    await waiter(scene);
    return [signal('signal'), cancel('cancel', task)];
  }),
  'signal × deadline': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await waiter(scene, { channel: 'c', timeoutMs: 5 });
    await scene.pass(10);
    return [signal('signal'), stage('stage', duty)];
  }),
  'signal × deadline of the first that waits': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await waiter(scene, { channel: 'c', timeoutMs: 5 });
    await waiter(scene);
    await scene.pass(10);
    return [signal('signal'), stage('stage', duty)];
  }),
  'signal × claim': both(async (scene) => {
    const { lane } = await waiter(scene);
    return [signal('signal'), claim('claim', await scene.newWorker(), lane)];
  }),
  'deadline × cancel': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const { task } = await waiter(scene, { timeoutMs: 5 });
    await scene.pass(10);
    return [stage('stage', duty), cancel('cancel', task)];
  }),
  'signal × revival of who waited': both(async (scene) => {
    const { task } = await waiter(scene);
    await scene.store.taskCancel({ tasks: [task] });
    return [signal('signal'), revive('revive', task)];
  }),
  'park × signal × signal': both(
    async (scene) => {
      await waiter(scene);
      return [park('park', await scene.running()), signal('one'), signal('two')];
    },
    { faults: [] },
  ),
  'park × signal × cancel of another one that waits': both(
    async (scene) => {
      const { task } = await waiter(scene);
      return [park('park', await scene.running()), signal('signal'), cancel('cancel', task)];
    },
    { faults: [] },
  ),

  'value × value': both(async (scene) => {
    const grant = await scene.running();
    return [remember('one', grant), remember('two', grant, '2')];
  }),
  'value × settle': both(async (scene) => {
    const grant = await scene.running();
    return [remember('remember', grant), settle('settle', grant)];
  }),
  'value × park': both(async (scene) => {
    const grant = await scene.running();
    return [remember('remember', grant), park('park', grant)];
  }),
  'value × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [remember('remember', grant), reap('reap', duty, grant)];
  }),

  'keep × keep of two tasks under one key': both(async (scene) => {
    return [keep('one', await scene.running()), keep('two', await scene.running())];
  }),
  'keep × keep in the place of what has expired': both(async (scene) => {
    const { task, attempt } = await scene.running();
    await scene.store.resultKeep({ items: [{ task, attempt, key: 'k', maxAgeMs: 1, value: '1' }] });
    const acts = [keep('one', await scene.running()), keep('two', await scene.running())] as const;
    await scene.pass(5);
    return [...acts];
  }),
  'keep × settle': both(async (scene) => {
    const grant = await scene.running();
    return [keep('keep', grant), settle('settle', grant)];
  }),
  'keep × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [keep('keep', grant), reap('reap', duty, grant)];
  }),
  'keep × prune of what has expired': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { task, attempt } = await scene.running();
      await scene.store.resultKeep({ items: [{ task, attempt, key: 'k', maxAgeMs: 1, value: '1' }] });
      const act = keep('keep', await scene.running());
      await scene.pass(5);
      const { from: _, ...whole } = prune('prune', duty, DAY);
      return [act, { ...whole, from: /^pruneResults/ }];
    },
    { forgets: true, faults: [0] },
  ),
};
