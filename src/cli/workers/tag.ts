import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import { tagWorker } from '../../operate/calls/worker-calls.ts';
import type { TagAnswer } from '../../operate/operations/workers.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, unknownWords, workerNames } from './name.ts';

/** `leasehold workers tag NAME`. */
export const tag: Command = {
  name: 'workers tag',
  doc: 'Add tags to a worker beside its own, or remove added ones',
  args: [NAME],
  options: ['add', 'remove', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workers tag laptop --add gpu=nvidia --add eu', does: 'it may take what requires them within a second' },
    { line: 'workers tag laptop --remove eu', does: 'and no longer; its own tags stay what they are' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(tag, args);
    const [name] = workerNames(words) as [string];
    const { add, remove } = config;
    checkTogether(add, remove);
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => tagWorker(operator, name, { add, remove }));
    if (out.mode === 'json') out.json(answer);
    else tell(answer, out);
    return answer.own.length === 0 ? EXIT.fine : EXIT.failed;
  },
};

function tell(answer: TagAnswer, out: Out): void {
  const { name, workers, tags, carries, own } = answer;
  const list = (some: readonly string[]): string => (some.length === 0 ? 'no tags' : some.map(safeLine).join(', '));
  if (workers === 0) out.line(`${name} is given ${list(tags)}.${unknownWords(answer)}`);
  else out.line(`${name} carries ${list(carries)}.`);
  if (own.length > 0)
    out.note(
      `It brings ${list(own)} itself and keeps that until it is started without; --never or "workers disable" keep tasks away.`,
    );
}

function checkTogether(add: readonly string[], remove: readonly string[]): void {
  if (add.length + remove.length === 0) {
    throw fault(
      'INVALID_INPUT',
      { field: 'command line', problem: 'it does not say which tags' },
      { hint: 'Give --add TAG or --remove TAG, each as often as you like.' },
    );
  }
  const both = add.find((one) => remove.includes(one));
  if (both !== undefined)
    throw fault('INVALID_INPUT', { field: '--remove', problem: `${JSON.stringify(both)} is to be added as well` });
}
