/** What loopd asks of its runs, case by case: real processes, both stores, with the worker in the process of the node and joined to it. */
import { test } from 'node:test';
import { GIT_CASES } from './git-cases.ts';
import { LINKS, LoopsScene, STORES } from './loops-scene.ts';
import { PHASE_CASES } from './phase-cases.ts';
import { RUN_CASES } from './run-cases.ts';
import { WORKER_CASES } from './worker-cases.ts';

const TIMEOUT_MS = 90_000;

for (const store of STORES)
  for (const link of LINKS)
    test(`runs of loopd on ${store}, the worker ${link}`, async (t) => {
      const scene = await LoopsScene.open(t, store, link);
      for (const [name, prove] of Object.entries({ ...RUN_CASES, ...WORKER_CASES, ...PHASE_CASES, ...GIT_CASES }))
        await t.test(name, { timeout: TIMEOUT_MS }, () => prove(scene));
    });
