/** Two contenders and a third that comes between them. */
import { DAY, TTL } from '../../src/store/conformance/kit/scene.ts';
import {
  both,
  type Case,
  cancel,
  claim,
  ended,
  expire,
  giveBack,
  KEY,
  overdue,
  push,
  reap,
  renew,
  revive,
  settle,
  stage,
  take,
  write,
} from './interleaving-verbs.ts';

export const TRIPLES: Readonly<Record<string, Case>> = {
  'push × push × push of one key': both(async (scene) => {
    const item = await scene.draft({ unique: KEY });
    return [push('one', item), push('two', item), push('three', item)];
  }),
  'claim × claim × cancel': both(async (scene) => {
    const task = await scene.push();
    const lane = await scene.lane();
    return [
      claim('one', await scene.newWorker(), lane),
      claim('two', await scene.newWorker(), lane),
      cancel('cancel', task),
    ];
  }),
  'settle × settle × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [settle('one', grant), settle('two', grant, 'failed'), reap('reap', duty, grant)];
  }),
  'settle × reap × cancel': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [settle('settle', grant), reap('reap', duty, grant), cancel('cancel', grant.task)];
  }),
  'settle × reap × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [settle('settle', grant), reap('one', duty, grant), reap('two', duty, grant, 'failed')];
  }),
  'return × reap × cancel': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [giveBack('return', grant), reap('reap', duty, grant), cancel('cancel', grant.task)];
  }),
  'return × reap × claim': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    const worker = await scene.newWorker();
    return [giveBack('return', grant), reap('reap', duty, grant), claim('claim', worker, grant.lane)];
  }),
  'renew × reap × settle': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [renew(grant), reap('reap', duty, grant), settle('settle', grant)];
  }),
  'log × settle × reap': both(async (scene) => {
    const { grant, duty } = await overdue(scene);
    return [write('log', grant), settle('settle', grant), reap('reap', duty, grant)];
  }),
  'claim × expire × cancel': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const task = await scene.push({ waitTimeoutMs: 5 });
    await scene.pass(10);
    const worker = await scene.worker();
    return [claim('claim', worker, await scene.lane()), expire('expire', duty), cancel('cancel', task)];
  }),
  'stage × expire × cancel': both(async (scene) => {
    const duty = await scene.duty('any', DAY);
    const task = await scene.push({ waitTimeoutMs: 5, delayMs: 5 });
    await scene.pass(20);
    return [stage('stage', duty), expire('expire', duty), cancel('cancel', task)];
  }),
  'revive × revive × claim': both(async (scene) => {
    const { task, lane } = await ended(scene);
    return [revive('one', task), revive('two', task), claim('claim', await scene.newWorker(), lane)];
  }),
  'take × reap × settle': both(async (scene) => {
    const duty = await scene.duty('any', 1);
    const grant = await scene.running();
    await scene.pass(TTL + 1);
    return [take('any'), reap('reap', duty, grant), settle('settle', grant)];
  }),
};
