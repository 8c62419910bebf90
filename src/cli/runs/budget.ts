import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import type { RunDetailView } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { RUN } from './run-ref.ts';

type BudgetView = RunDetailView['budgets'][number];

const UNITS = ['tokens', 'money', 'ms', 'calls'] as const satisfies readonly BudgetView['unit'][];

/** `leasehold runs budget RUN [UNIT=AMOUNT]`. */
export const budget: Command = {
  name: 'runs budget',
  doc: 'Show what a run may use, or set it for all its tasks: a run that waits for it goes on',
  args: [
    RUN,
    {
      name: 'UNIT=AMOUNT',
      doc: 'tokens, money (in dollars), ms or calls; 0.5, or none to take the bound away',
      optional: true,
    },
  ],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'runs budget nightly/7', does: 'what it may use, and has used' },
    { line: 'runs budget nightly/7 money=5', does: 'five dollars for the run and all that it starts' },
    { line: 'runs budget nightly/7 tokens=none', does: 'as many tokens as it needs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(budget, args);
    const [id, bound] = words as [string, string | undefined];
    const out = outFor(config);
    const change = bound === undefined ? undefined : readBound(bound);
    const budgets = await withOperator(config, async (operator) => {
      if (change === undefined) return (await operator.call('getRun', { params: { id } })).budgets;
      return (await operator.call('setRunBudget', { params: { id }, body: change })).budgets;
    });
    if (out.mode === 'json') out.json({ budgets });
    else tell(budgets, out);
    return EXIT.fine;
  },
};

function readBound(text: string): { readonly unit: BudgetView['unit']; readonly hard: number | null } {
  const [, name, said = ''] = /^(\w+)=(.+)$/.exec(text) ?? [];
  const unit = UNITS.find((one) => one === name);
  const hard = said === 'none' ? null : Number(said);
  if (unit !== undefined && (hard === null || (hard >= 0 && Number.isFinite(hard)))) return { unit, hard };
  throw fault(
    'INVALID_INPUT',
    { field: 'UNIT=AMOUNT', problem: `${JSON.stringify(text.slice(0, 80))} is not a unit and an amount` },
    { hint: `Units are ${UNITS.join(', ')}: tokens=200000, money=5, calls=none.` },
  );
}

function tell(budgets: readonly BudgetView[], out: Out): void {
  if (budgets.length === 0) out.line('There is no budget: it may use what it needs.');
  for (const { unit, spent, taken, soft, hard, waiting } of budgets) {
    const bounds = [hard === undefined ? 'no bound' : `of ${hard}`, ...(soft === undefined ? [] : [`soft ${soft}`])];
    const reserved = taken > spent ? `, ${taken - spent} more held by its tasks` : '';
    out.line(
      `${unit.padEnd(6)}  ${spent} used ${bounds.join(', ')}${reserved}${waiting ? '; a task waits for more' : ''}`,
    );
  }
}
