import { loadCall } from '../../config/load.ts';
import { nodeOverride } from '../../config/parse.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

const WORDS = { leader: 'the leader', observer: 'an observer', worker: 'a worker' } as const;

/** `leasehold cluster role NODE ROLE`. */
export const role: Command = {
  name: 'cluster role',
  doc: 'Change the role of a running node, or undo that',
  args: [
    { name: 'NODE', doc: 'The id of the node, as "cluster status" shows it' },
    { name: 'leader|observer|worker|auto', doc: 'The new role; auto: the role that it was started with' },
  ],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'cluster role node-1 observer', does: 'it takes no writes and no workers; another one leads' },
    { line: 'cluster role node-1 leader', does: 'it leads within seconds; the one that led gives way' },
    { line: 'cluster role node-1 worker', does: 'it serves, and leads no more' },
    { line: 'cluster role node-1 auto', does: 'it has the role again that it was started with' },
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
    else if (asked === 'auto') out.line(`${id} has the role again that it was started with: ${node.wish}.`);
    else out.line(`${id} is asked to be ${WORDS[asked]}.`);
    if (node.state !== 'healthy') out.note(`It is ${node.state} now; it will learn of it when it is back.`);
    return EXIT.fine;
  },
};
