import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { TAG } from './words.ts';

/** `leasehold tags create TAG`. */
export const create: Command = {
  name: 'tags create',
  doc: 'Make a tag, which is listed also while no worker carries it',
  args: [TAG],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'tags create gpu', does: 'workers are given it with "workers tag NAME --add gpu"' },
    { line: 'tags create region=eu', does: 'a tag with a value' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(create, args);
    const [name] = words as [string];
    const out = outFor(config);
    const made = await withOperator(
      config,
      (operator) => operator.call('createTag', { body: { name }, by: actingUser(undefined) }),
      { create: true },
    );
    if (out.mode === 'json') out.json(made);
    else out.line(`Made the tag ${safeLine(made.tag)}.`);
    return EXIT.fine;
  },
};
