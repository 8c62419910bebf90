import { loadCall, sourceOf } from '../../config/load.ts';
import type { Config, OptionKey } from '../../config/options.ts';
import { type PoolEdit, setPool } from '../../operate/calls/pool-calls.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { boundsText, NAME } from './words.ts';

/** `leasehold pools set POOL`. */
export const set: Command = {
  name: 'pools set',
  doc: 'Create a pool, or change the given parts of one',
  args: [{ ...NAME, doc: 'The pool; created if it does not exist' }],
  options: [
    'poolMin',
    'poolMax',
    'queue',
    'tasksPerWorker',
    'scaleUpThreshold',
    'targetWait',
    'poolIdle',
    'cooldownUp',
    'cooldownDown',
    'burst',
    'startTimeout',
    'life',
    'slots',
    'tag',
    'launcher',
    'enabled',
    'by',
    ...OPERATOR_OPTIONS,
  ],
  examples: [
    { line: 'pools set papers --max 10', does: 'up to ten workers, each for one task of the queue papers' },
    { line: 'pools set papers --life stay --slots 4 --idle 5m', does: 'workers that stay while there is work' },
    { line: 'pools set papers --no-enabled', does: 'starts nobody more' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(set, args);
    const [name] = words as [string];
    const out = outFor(config);
    const pool = await withOperator(
      config,
      (operator) => setPool(operator, name, editOf(config), actingUser(config.by)),
      { create: true },
    );
    if (out.mode === 'json') out.json(pool);
    else out.line(`Set ${name}: ${boundsText(pool)} workers for ${pool.queues.join(', ')}.`);
    return EXIT.fine;
  },
};

function editOf(config: Config): PoolEdit {
  const given = <K extends OptionKey>(key: K): Config[K] | undefined =>
    sourceOf(config, key) === 'flag' ? config[key] : undefined;
  return {
    queues: given('queue'),
    enabled: config.enabled,
    launcher: config.launcher,
    policy: {
      min: config.poolMin,
      max: config.poolMax,
      tasksPerWorker: config.tasksPerWorker,
      scaleUpThreshold: config.scaleUpThreshold,
      targetWaitMs: config.targetWait,
      idleMs: config.poolIdle,
      cooldownUpMs: config.cooldownUp,
      cooldownDownMs: config.cooldownDown,
      burst: config.burst,
      startMs: config.startTimeout,
    },
    worker: { life: config.life, slots: given('slots'), tags: given('tag') },
  };
}
