import { loadCall } from '../../config/load.ts';
import { type Config, flagOf, type OptionKey } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import { setLimit } from '../../operate/calls/limit-calls.ts';
import type { LimitAnswer, LimitEdit } from '../../operate/operations/limits.ts';
import { boundsText } from '../display/limit-words.ts';
import { type Out, outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

const EDITS = [
  'concurrent',
  'perKey',
  'rate',
  'rateBurst',
  'ratePerKey',
  'cost',
  'costBurst',
  'costPerKey',
  'strategy',
  'backlog',
] as const satisfies readonly OptionKey[];

/** `leasehold limits set NAME`. */
export const set: Command = {
  name: 'limits set',
  doc: 'Create a limit, or change the given parts of one; running tasks go on',
  args: [{ name: 'NAME', doc: 'The limit; created if it does not exist' }],
  options: [...EDITS, 'by', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'limits set openai --concurrent 8 --per-key 2', does: 'eight at once, and two of them for one key' },
    { line: 'limits set openai --rate 100/1m --cost 90000/1m', does: 'and so many starts and tokens a minute' },
    {
      line: 'limits set openai --per-key none --strategy refuse',
      does: 'no bound per key; tasks beyond the limit are refused',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(set, args);
    const [name] = words as [string];
    const edit = editOf(config);
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => setLimit(operator, name, edit, actingUser(config.by)), {
      create: true,
    });
    if (out.mode === 'json') out.json(answer);
    else tell(answer, out);
    return EXIT.fine;
  },
};

function editOf(config: Config): LimitEdit {
  const { concurrent, perKey, strategy, backlog } = config;
  if (EDITS.every((key) => config[key] === undefined)) {
    throw fault(
      'INVALID_INPUT',
      { field: 'command line', problem: 'it does not say what the limit should be' },
      { hint: `Give at least one of ${EDITS.map(flagOf).join(', ')}.` },
    );
  }
  return { concurrent, perKey, rate: rateOf(config, 'rate'), cost: rateOf(config, 'cost'), strategy, backlog };
}

function rateOf(config: Config, kind: 'rate' | 'cost'): LimitEdit['rate'] {
  const { [kind]: span, [`${kind}Burst` as const]: burst, [`${kind}PerKey` as const]: perKey } = config;
  if (burst === undefined && perKey === undefined && (span === undefined || span === null)) return span;
  if (span !== null) return { ...(span && { max: span.max, window: span.windowMs }), burst, perKey };
  const field = flagOf(`${kind}${burst === undefined ? 'PerKey' : 'Burst'}`);
  throw fault('INVALID_INPUT', { field, problem: `${flagOf(kind)} none leaves no ${kind} that it could change` });
}

function tell({ limit, before, changed }: LimitAnswer, out: Out): void {
  const { name } = limit;
  if (before === undefined) out.line(`Made ${name}: ${boundsText(limit)}.`);
  else if (!changed) out.line(`${name} is so already: ${boundsText(limit)}. Nothing was changed.`);
  else {
    out.line(`Changed ${name}.`);
    out.line(`  ${out.paint('dim', 'was')}  ${boundsText(before)}`);
    out.line(`  ${out.paint('dim', 'is')}   ${boundsText(limit)}`);
  }
  const { concurrent, active } = limit;
  if (concurrent !== undefined && active > concurrent)
    out.note(`${active} are in use; nothing more starts before that has come down to less than ${concurrent}.`);
}
