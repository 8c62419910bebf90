import { loadCall } from '../../config/load.ts';
import { nodeOverride } from '../../config/parse.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

/** `leasehold cluster role NODE ROLE`. */
export const role: Command = {
  name: 'cluster role',
  doc: 'Ask another role of a node while it runs, or take that back',
  args: [
    { name: 'NODE', doc: 'The id of the node, as "cluster status" shows it' },
    { name: 'observer|worker|auto', doc: 'What it is to be; auto: what it was started as' },
  ],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'cluster role node-1 observer', does: 'it takes no writes and no workers; another one leads' },
    { line: 'cluster role node-1 worker', does: 'it serves, and leads no more' },
    { line: 'cluster role node-1 auto', does: 'it is again what it was started as' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(role, args);
    const [id, text] = words as [string, string];
    const asked = nodeOverride(text, 'role');
    const out = outFor(config);
    const node = await withOperator(config, (operator) =>
      operator.call('editNode', { params: { id }, body: { role: asked } }),
    );
    if (out.mode === 'json') out.json(node);
    else if (asked === 'auto') out.line(`${id} goes by what it was started as: ${node.wish}.`);
    else out.line(`${id} is asked to be ${asked === 'observer' ? 'an observer' : 'a worker'}.`);
    if (node.state !== 'healthy') out.note(`It is ${node.state} now; it will learn of it when it is back.`);
    return EXIT.fine;
  },
};
