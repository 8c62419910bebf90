/** Verbs that meet on the same rows: each case says what stands there and who comes. */
import { DAY, HOUR, TTL } from '../../src/store/conformance/kit/scene.ts';
import type { Grant } from '../../src/store/store.ts';
import type { Act } from './interleaving.ts';
import {
  apart,
  audit,
  audited,
  beat,
  both,
  type Case,
  cancel,
  carry,
  claim,
  claimTask,
  deposed,
  ended,
  expire,
  FEED,
  fire,
  giveBack,
  graph,
  joined,
  KEY,
  number,
  overdue,
  prune,
  push,
  reap,
  reapWorkers,
  renew,
  revive,
  settle,
  stage,
  take,
  twice,
  write,
} from './interleaving-verbs.ts';

export const PAIRS: Readonly<Record<string, Case>> = {
  'push × push of one key': twice(async (scene) => {
    const item = await scene.draft({ unique: KEY });
    return (name) => push(name, item);
  }),
  'push × push of one key with other inputs': both(async (scene) => {
    const item = await scene.draft({ unique: KEY });
    return [push('one', item), push('two', { ...item, unique: { ...KEY, hash: 2 } })];
  }),
  'push × push of a key whose time is over': twice(async (scene) => {
    const item = await scene.draft({ unique: { ...KEY, windowMs: 1 } });
    await ended(scene, item);
    await scene.pass(HOUR);
    return (name) => push(name, item);
  }),
  'push × push of two keys whose time is over, each in its own order': both(async (scene) => {
    const [one, two] = [
      await scene.draft({ unique: { ...KEY, windowMs: 1 } }),
      await scene.draft({ unique: { ...KEY, key: 'other', windowMs: 1 } }),
    ] as const;
    await ended(scene, one);
    await ended(scene, two);
    await scene.pass(HOUR);
    return [push('one', one, two), push('two', two, one)];
  }),
  'push × end of the task that has the key': both(async (scene) => {
    const item = await scene.draft({ unique: { ...KEY, windowMs: 1 } });
    const grant = await scene.running(item);
    await scene.pass(1000);
    return [push('push', item), settle('settle', grant)];
  }),
  'push × revival of the task that had the key': both(async (scene) => {
    const item = await scene.draft({ unique: { ...KEY, windowMs: 1 } });
    const { task } = await ended(scene, item);
    await scene.pass(1000);
    return [push('push', item), revive('revive', task)];
  }),
  'push × pruning of the task that had the key': both(
    async (scene) => {
      const item = await scene.draft({ unique: { ...KEY, windowMs: 1 } });
      const duty = await scene.duty('any', DAY);
      await ended(scene, item);
      await scene.pass(HOUR);
      return [push('push', item), prune('prune', duty, 1)];
    },
    { forgets: true },
  ),
  'push × push of one operation': twice(async (scene) => {
    const item = await scene.draft({ op: 'o' });
    return (name) => push(name, item);
  }),
  'push × push of one operation with a key': twice(async (scene) => {
    const item = await scene.draft({ op: 'o', unique: KEY });
    return (name) => push(name, item);
  }),
  'push × push of two operations with one key': both(async (scene) => {
    const item = await scene.draft({ unique: KEY });
    return [push('one', { ...item, op: 'o' }), push('two', { ...item, op: 'p' })];
  }),
  'push × push without names': twice(async (scene) => {
    const item = await scene.draft();
    return (name) => push(name, item);
  }),
  'push × push of long payloads': twice(async (scene) => {
    const item = await scene.draft({ payload: JSON.stringify('x'.repeat(3000)), delayMs: 5 });
    return (name) => push(name, item);
  }),
  'push × claim': both(async (scene) => {
    const item = await scene.draft();
    return [push('push', item), claim('claim', await scene.worker(), item.lane)];
  }),

  'claim × claim of one task': both(async (scene) => {
    await scene.push();
    const lane = await scene.lane();
    return [claim('one', await scene.newWorker(), lane), claim('two', await scene.newWorker(), lane)];
  }),
  'claim × claim of two tasks': both(
    async (scene) => {
      await scene.pushMany(2);
      const lane = await scene.lane();
      return [claim('one', await scene.newWorker(), lane), claim('two', await scene.newWorker(), lane, 2)];
    },
    // What the first one held when it died the second has stepped over: no sequence does that, and the next claim finds it.
    { faults: [] },
  ),
  'claim × claim by name': both(async (scene) => {
    const task = await scene.push();
    const [one, two] = [await scene.newWorker(), await scene.newWorker()];
    return [claim('claim', one, await scene.lane()), claimTask('by name', two, task)];
  }),
  'claim by name × claim by name': both(async (scene) => {
    const task = await scene.push();
    return [claimTask('one', await scene.newWorker(), task), claimTask('two', await scene.newWorker(), task)];
  }),
  'claim × cancel': both(async (scene) => {
    const task = await scene.push();
    return [claim('claim', await scene.worker(), await scene.lane()), cancel('cancel', task)];
  }),
  'claim by name × cancel': both(async (scene) => {
    const task = await scene.push();
    return [claimTask('claim', await scene.worker(), task), cancel('cancel', task)];
  }),
  'claim by name × pause of the queue': both(async (scene) => {
    const task = await scene.push();
    return [
      claimTask('claim', await scene.worker(), task),
      { name: 'pause', act: (store) => store.queuePause({ queue: 'pausing', paused: true }) },
    ];
  }),
  'claim × its worker is disabled': both(
    async (scene) => {
      await scene.push();
      const worker = await scene.worker();
      const [{ name } = { name: '' }] = await scene.store.workerList();
      const act: Act['act'] = (store) => store.workerSet({ name, enabled: false });
      return [claim('claim', worker, await scene.lane()), { name: 'disable', act }];
    },
    { vague: 'a repeat does not see the grants of a first sending that is still open: those leases run out' },
  ),

  'settle × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [settle('settle', grant), reap('reap', duty, grant)];
  }),
  'settle × reap for good': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [settle('settle', grant, 'failed'), reap('reap', duty, grant, 'failed')];
  }),
  'settle × settle': twice(async (scene) => {
    const grant = await scene.running();
    return (name) => settle(name, grant);
  }),
  'settle × settle with another end': both(async (scene) => {
    const grant = await scene.running();
    return [settle('one', grant), settle('two', grant, 'failed')];
  }),
  'settle × cancel': both(async (scene) => {
    const grant = await scene.running();
    return [settle('settle', grant), cancel('cancel', grant.task)];
  }),
  'settle × return': both(async (scene) => {
    const grant = await scene.running();
    return [settle('settle', grant), giveBack('return', grant)];
  }),
  'settle × renew': both(async (scene) => {
    const grant = await scene.running();
    return [settle('settle', grant), renew(grant)];
  }),
  'settle × revival': both(async (scene) => {
    const grant = await scene.running();
    return [settle('settle', grant), revive('revive', grant.task)];
  }),
  'return × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [giveBack('return', grant), reap('reap', duty, grant)];
  }),
  'return × cancel': both(async (scene) => {
    const grant = await scene.running();
    return [giveBack('return', grant), cancel('cancel', grant.task)];
  }),
  'return × return': both(async (scene) => {
    const grant = await scene.running();
    return [giveBack('one', grant), giveBack('two', grant, { change: 'released', delayMs: 5, refund: true })];
  }),
  'return × claim': both(async (scene) => {
    const grant = await scene.running();
    return [giveBack('return', grant), claim('claim', await scene.newWorker(), grant.lane)];
  }),
  'renew × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [renew(grant), reap('reap', duty, grant)];
  }),
  'renew × cancel': both(async (scene) => {
    const grant = await scene.running();
    return [renew(grant), cancel('cancel', grant.task)];
  }),
  'reap × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [reap('one', duty, grant), reap('two', duty, grant, 'failed')];
  }),
  'reap × cancel': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [reap('reap', duty, grant), cancel('cancel', grant.task)];
  }),
  'reap × claim': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [reap('reap', duty, grant), claim('claim', await scene.newWorker(), grant.lane)];
  }),
  'cancel × cancel': both(
    async (scene) => {
      const task = await scene.push();
      return [cancel('one', task), cancel('two', task)];
    },
    { vague: 'a repeat finds it cancelled and cannot know by whom: both may say that they did it' },
  ),
  'cancel × cancel of what runs': both(async (scene) => {
    const { task } = await scene.running();
    return [cancel('one', task), cancel('two', task)];
  }),

  'stage × cancel': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const task = await scene.push({ delayMs: 5 });
    await scene.pass(10);
    return [stage('stage', duty), cancel('cancel', task)];
  }),
  'stage × stage': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await scene.pushMany(2, { delayMs: 5 });
    await scene.pass(10);
    return [stage('one', duty), stage('two', duty)];
  }),
  'stage × claim': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await scene.push({ delayMs: 5 });
    await scene.pass(10);
    return [stage('stage', duty), claim('claim', await scene.worker(), await scene.lane())];
  }),
  'expire × claim': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await scene.push({ waitTimeoutMs: 5 });
    await scene.pass(10);
    return [expire('expire', duty), claim('claim', await scene.worker(), await scene.lane())];
  }),
  'expire × cancel': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const task = await scene.push({ waitTimeoutMs: 5 });
    await scene.pass(10);
    return [expire('expire', duty), cancel('cancel', task)];
  }),
  'expire × stage': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await scene.push({ waitTimeoutMs: 5, delayMs: 5 });
    await scene.pass(20);
    return [expire('expire', duty), stage('stage', duty)];
  }),
  'expire × expire': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await scene.push({ waitTimeoutMs: 5 });
    await scene.pass(10);
    return [expire('one', duty), expire('two', duty)];
  }),

  'revive × revive': both(
    async (scene) => {
      const { task } = await ended(scene);
      return [revive('one', task), revive('two', task)];
    },
    { vague: 'a repeat finds it ready and cannot know by whom: both may say that they did it' },
  ),
  'revive × a settle that comes again': both(async (scene) => {
    const grant = await ended(scene);
    return [revive('revive', grant.task), settle('settle', grant, 'failed')];
  }),
  'revive × claim': both(async (scene) => {
    const { task, lane } = await ended(scene);
    return [revive('revive', task), claim('claim', await scene.newWorker(), lane)];
  }),
  'revive × cancel': both(async (scene) => {
    const { task } = await ended(scene);
    return [revive('revive', task), cancel('cancel', task)];
  }),
  'revive × prune': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { task } = await ended(scene, { unique: KEY });
      await scene.pass(HOUR);
      return [revive('revive', task), prune('prune', duty, 1)];
    },
    { forgets: true },
  ),
  'prune × prune': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      await ended(scene, { unique: KEY });
      await scene.pass(HOUR);
      const { from: _, ...whole } = prune('one', duty, 1);
      return [whole, { ...whole, name: 'two' }];
    },
    { forgets: true, vague: 'it is several transactions, and a repeat begins with the first of them' },
  ),

  // Whoever comes first: the dependent is woken, or ends, and it is so once.
  'settle × a dependent that comes': both(
    async (scene) => {
      const grant = await scene.running();
      return [settle('settle', grant), graph('graph', await scene.draft(), [grant.task], 'cancel')];
    },
    {
      vague: 'the answer that was lost may be of a statement that did nothing: then the repeat is the one that did it',
    },
  ),
  'settle of what something waits for × a dependent that comes': both(async (scene) => {
    const { grants } = await joined(scene, 1);
    const [grant] = grants as [Grant];
    return [settle('settle', grant), graph('graph', await scene.draft(), [grant.task], 'cancel')];
  }),
  'failure × dependents that come': both(
    async (scene) => {
      const grant = await scene.running();
      return [settle('settle', grant, 'failed'), graph('graph', await scene.draft(), [grant.task], 'fail', 'run')];
    },
    {
      vague: 'the answer that was lost may be of a statement that did nothing: then the repeat is the one that did it',
    },
  ),
  'cancel × a dependent that comes': both(
    async (scene) => {
      const task = await scene.push();
      return [cancel('cancel', task), graph('graph', await scene.draft(), [task], 'cancel')];
    },
    { vague: 'a repeat finds it cancelled and cannot know by whom' },
  ),
  'reap for good × a dependent that comes': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [reap('reap', duty, grant, 'failed'), graph('graph', await scene.draft(), [grant.task], 'cancel')];
  }),
  'expire × a dependent that comes': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const task = await scene.push({ waitTimeoutMs: 5 });
    await scene.pass(10);
    return [expire('expire', duty), graph('graph', await scene.draft(), [task], 'cancel')];
  }),
  'claim × a dependent that comes': both(async (scene) => {
    const task = await scene.push();
    const claimed = claim('claim', await scene.worker(), await scene.lane());
    return [claimed, graph('graph', await scene.draft({ queue: 'other' }), [task], 'cancel')];
  }),
  'revive × a dependent that comes': both(async (scene) => {
    const { task } = await ended(scene);
    return [revive('revive', task), graph('graph', await scene.draft(), [task], 'cancel')];
  }),
  'graph × graph of one key': twice(async (scene) => {
    const { task } = await scene.running();
    const item = await scene.draft({ unique: KEY });
    return (name) => graph(name, item, [task], 'cancel');
  }),
  'graph × graph on one task': both(async (scene) => {
    const { task } = await scene.running();
    const item = await scene.draft();
    return [graph('one', item, [task], 'cancel'), graph('two', item, [task], 'cancel')];
  }),
  'two parents of one dependent end': both(async (scene) => {
    const { grants } = await joined(scene, 2);
    const [one, two] = grants as [Grant, Grant];
    return [settle('one', one), settle('two', two)];
  }),
  'two parents of one dependent end, one of them badly': both(async (scene) => {
    const { grants } = await joined(scene, 2, 'fail');
    const [one, two] = grants as [Grant, Grant];
    return [settle('one', one), settle('two', two, 'failed')];
  }),
  'two settles of one parent': twice(async (scene) => {
    const { grants } = await joined(scene, 1);
    return (name) => settle(name, grants[0] as Grant);
  }),
  'settle of a parent × cancel of its dependent': both(
    async (scene) => {
      const { grants, join } = await joined(scene, 1);
      return [settle('settle', grants[0] as Grant), cancel('cancel', join)];
    },
    { vague: 'a repeat finds it cancelled and cannot know by whom' },
  ),
  'settle of a parent × claim of its dependent': both(async (scene) => {
    const { grants, join } = await joined(scene, 1);
    return [settle('settle', grants[0] as Grant), claimTask('claim', await scene.worker(), join)];
  }),
  'settle of a parent × revival of its dependent': both(async (scene) => {
    const { grants, join } = await joined(scene, 1);
    await scene.store.taskCancel({ tasks: [join] });
    return [settle('settle', grants[0] as Grant), revive('revive', join)];
  }),
  'carry × revival of the parent': both(async (scene, { ask }) => {
    const duty = await scene.duty('any', DAY);
    const { grants } = await joined(scene, 2);
    const [{ task }] = grants as [Grant, Grant];
    await scene.settle(grants[0] as Grant, 'completed');
    // As if it had failed, and the dependent been one too many: it is carried on, or waits for the next end.
    await ask(`UPDATE steps.task SET open = 2 WHERE state = 3; UPDATE steps.dep SET open = true WHERE up = ${task};
      INSERT INTO steps.dep_carry (up, state) VALUES (${task}, 5)`);
    return [carry('carry', duty), revive('revive', task)];
  }),

  'log × settle': both(async (scene) => {
    const grant = await scene.running();
    return [write('log', grant), settle('settle', grant)];
  }),
  'log × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [write('log', grant), reap('reap', duty, grant)];
  }),
  'log × renew': both(async (scene) => {
    const grant = await scene.running();
    return [write('log', grant), renew(grant)];
  }),
  'log × log': both(async (scene) => {
    const grant = await scene.running();
    return [write('one', grant), write('two', grant, 'x')];
  }),

  'take × take': both(async (scene) => {
    await scene.duty('any', 1);
    await scene.pass(2);
    return [take('any'), { ...take('any'), name: 'other' }];
  }),
  'take × take of a duty that nobody had': both(async () => {
    return [take('any'), { ...take('any'), name: 'other' }];
  }),
  'take × renew of a duty': both(async (scene) => {
    const duty = await scene.duty('any', 1);
    await scene.pass(2);
    return [take('any'), { name: 'renew', act: (store) => store.dutyRenew({ duty, ttlMs: HOUR }) }];
  }),
  'take × release': both(async (scene) => {
    const duty = await scene.duty('any', 1);
    await scene.pass(2);
    return [take('any'), { name: 'release', act: (store) => store.dutyRelease({ duty }) }];
  }),
  'take × reap': deposed(async (scene, duty) => {
    const grant = await scene.running();
    await scene.pass(TTL + 1);
    return reap('reap', duty, grant);
  }),
  'take × stage': deposed(async (scene, duty) => {
    await scene.push({ delayMs: 1 });
    return stage('stage', duty);
  }),
  'take × expire': deposed(async (scene, duty) => {
    await scene.push({ waitTimeoutMs: 1 });
    return expire('expire', duty);
  }),
  'take × reap of workers': deposed(async (scene, duty) => {
    await scene.newWorker();
    await scene.pass(HOUR);
    return reapWorkers('reap', duty);
  }),
  'take × firing': deposed((scene, duty) => fire(scene, duty)),
  // It looks without a lock, and here finds nothing to write.
  'take × audit': deposed(
    async (scene, duty) => {
      await scene.push();
      return audit(duty);
    },
    { check: () => {} },
  ),
  'take × prune': deposed(
    async (scene, duty) => {
      await ended(scene);
      const { from: _, ...whole } = prune('prune', duty, 1);
      return whole;
    },
    { forgets: true },
  ),
  'take × numbering': both(
    async (scene, { ask }) => {
      await scene.push();
      await ask(`UPDATE steps.duty SET until = 1 WHERE name = 'feed'`);
      return [take('feed'), number('number', FEED)];
    },
    { check: apart },
  ),
  'numbering × numbering': both(async (scene) => {
    await scene.pushMany(2);
    return [number('one', FEED), number('two', FEED)];
  }),
  'numbering × push': both(async (scene) => {
    await scene.push();
    return [number('number', FEED), push('push', await scene.draft())];
  }),
  'numbering × settle': both(async (scene) => {
    const grant = await scene.running();
    return [number('number', FEED), settle('settle', grant)];
  }),
  'firing × firing': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const one = await fire(scene, duty, 'one');
    return [one, { ...one, name: 'two' }];
  }),
  'firing × removal of the trigger': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const act: Act['act'] = (store) => store.triggerRemove({ name: 'nightly' });
    return [await fire(scene, duty), { name: 'remove', act }];
  }),
  'firing × pause of the trigger': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const act: Act['act'] = (store) => store.triggerPause({ name: 'nightly' });
    return [await fire(scene, duty), { name: 'pause', act }];
  }),
  'firing × run of the trigger': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const item = await scene.draft();
    const act: Act['act'] = (store) => store.triggerRun({ name: 'nightly', item });
    return [await fire(scene, duty), { name: 'run', act }];
  }),
  'beat × reap of workers': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const worker = await scene.newWorker();
    await scene.pass(HOUR);
    return [beat(worker), reapWorkers('reap', duty)];
  }),
  'reap of workers × reap of workers': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    await scene.newWorker();
    await scene.pass(HOUR);
    return [reapWorkers('one', duty), reapWorkers('two', duty)];
  }),

  'audit × push': audited(async (scene) => push('push', await scene.draft({ unique: KEY }))),
  'audit × claim': audited(async (scene) => {
    await scene.push();
    return claim('claim', await scene.worker(), await scene.lane());
  }),
  'audit × settle': audited(async (scene) => settle('settle', await scene.running())),
  'audit × return': audited(async (scene) => giveBack('return', await scene.running())),
  'audit × reap': audited(async (scene, duty) => {
    const grant = await scene.running();
    await scene.pass(TTL + 1);
    return reap('reap', duty, grant);
  }),
  'audit × stage': audited(async (scene, duty) => {
    await scene.push({ delayMs: 1 });
    await scene.pass(2);
    return stage('stage', duty);
  }),
  'audit × expire': audited(async (scene, duty) => {
    await scene.push({ waitTimeoutMs: 1 });
    await scene.pass(2);
    return expire('expire', duty);
  }),
  'audit × cancel': audited(async (scene) => cancel('cancel', await scene.push())),
  'audit × revive': audited(async (scene) => revive('revive', (await ended(scene)).task)),
  'audit × numbering': audited(async (scene) => {
    await scene.push();
    return number('number', FEED);
  }),
  'audit × firing': audited((scene, duty) => fire(scene, duty)),
  'audit that repairs × push': both(
    async (scene, { ask }) => {
      const duty = await scene.duty('any', DAY);
      await scene.push();
      await ask('UPDATE steps.outbox SET d_ready = 3');
      return [audit(duty), push('push', await scene.draft())];
    },
    { faults: [] },
  ),
  'audit that repairs × audit that repairs': both(
    async (scene, { ask }) => {
      const duty = await scene.duty('any', DAY);
      await scene.push();
      await ask('UPDATE steps.outbox SET d_ready = 3');
      return [audit(duty), { ...audit(duty), name: 'other' }];
    },
    { faults: [] },
  ),
};
