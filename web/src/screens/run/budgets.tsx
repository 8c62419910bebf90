/** The budgets of a run: what is spent, what is reserved for calls under way, and where it stops. */

import { useState } from 'react';
import { type Budget, client, type RunDetail } from '../../api.ts';
import { amountText, boundOf, budgetParts } from '../../model/run/budget.ts';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { State } from '../../ui/states.tsx';
import { showDone } from '../../ui/toast.tsx';

const NAMES: Readonly<Record<Budget['unit'], string>> = {
  tokens: 'Tokens',
  money: 'Money',
  ms: 'Time in agents',
  calls: 'Calls',
};

export function Budgets({ of: run, onDone }: { readonly of: RunDetail; readonly onDone: () => void }) {
  const may = useMay('operator');
  const [raised, setRaised] = useState<Budget>();
  if (run.budgets.length === 0) return null;
  return (
    <Panel title="Budgets">
      <ul className="panel-body stack">
        {run.budgets.map((budget) => (
          <li key={budget.unit} className="stack tight">
            <div className="row apart">
              <span className="strong">{NAMES[budget.unit]}</span>
              {budget.waiting && <State state="waiting" label="a task waits" />}
              {may && (
                <Button small kind={budget.waiting ? 'primary' : undefined} onClick={() => setRaised(budget)}>
                  {budget.hard === undefined ? 'Change' : 'Raise'}
                </Button>
              )}
            </div>
            <BudgetBar of={budget} />
          </li>
        ))}
      </ul>
      {raised && <RaiseDialog run={run} of={raised} onClose={() => setRaised(undefined)} onDone={onDone} />}
    </Panel>
  );
}

function BudgetBar({ of: budget }: { readonly of: Budget }) {
  const { unit, soft, hard, spent, taken, waiting } = budget;
  const parts = budgetParts(budget);
  const text = (amount: number): string => amountText(unit, amount);
  const tone =
    waiting || parts.spent >= 1 ? 's-failed' : soft !== undefined && taken >= soft ? 's-attention' : 's-completed';
  const bound = hard === undefined ? (soft === undefined ? '' : ` of ${text(soft)} (soft)`) : ` of ${text(hard)}`;
  return (
    <>
      <div
        className={`budget ${tone}`}
        role="meter"
        aria-label={`${NAMES[unit]}: ${text(spent)} spent${bound}`}
        aria-valuenow={spent}
        aria-valuemin={0}
        aria-valuemax={Math.max(hard ?? soft ?? taken, taken, spent)}
      >
        <i style={{ width: `${parts.spent * 100}%` }} />
        <i className="reserved" style={{ left: `${parts.spent * 100}%`, width: `${parts.reserved * 100}%` }} />
        {parts.soft !== undefined && <b style={{ left: `${parts.soft * 100}%` }} title={`Soft: ${text(soft ?? 0)}`} />}
      </div>
      <span className="quiet budget-text">
        <span>
          {text(spent)} spent{taken > spent ? `, ${text(taken - spent)} reserved` : ''}
        </span>
        <span>
          {hard === undefined ? (soft === undefined ? 'no bound' : `soft ${text(soft)}`) : `hard ${text(hard)}`}
        </span>
      </span>
    </>
  );
}

function RaiseDialog({
  run,
  of: { unit, soft, hard, taken },
  onClose,
  onDone,
}: {
  readonly run: RunDetail;
  readonly of: Budget;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [hardText, setHard] = useState(hard === undefined ? '' : String(hard));
  const [softText, setSoft] = useState(soft === undefined ? '' : String(soft));
  const bounds = { hard: boundOf(unit, hardText), soft: boundOf(unit, softText) };
  const wrong = bounds.hard === undefined || bounds.soft === undefined;
  const inUnit = unit === 'money' ? 'In dollars' : unit === 'ms' ? 'A time such as 5m, or milliseconds' : undefined;
  return (
    <FormDialog
      title={`${NAMES[unit]} of this run`}
      submit="Change the budget"
      disabled={wrong}
      onClose={onClose}
      act={async () => {
        if (bounds.hard === undefined || bounds.soft === undefined) return false;
        await client.call('setRunBudget', {
          params: { id: run.id },
          body: { unit, hard: bounds.hard, soft: bounds.soft },
        });
        showDone('The budget is changed. Tasks that waited for it go on.');
        onDone();
        return true;
      }}
    >
      <p>
        {amountText(unit, taken)} are spent or reserved. At the hard bound the run waits until somebody raises it; at
        the soft one it only warns.
      </p>
      <div className="fields two">
        <Field label="Hard" hint={inUnit} problem={bounds.hard === undefined ? 'This is not an amount' : undefined}>
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="decimal"
              placeholder="no bound"
              value={hardText}
              onChange={(event) => setHard(event.target.value)}
            />
          )}
        </Field>
        <Field label="Soft" problem={bounds.soft === undefined ? 'This is not an amount' : undefined}>
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="decimal"
              placeholder="no bound"
              value={softText}
              onChange={(event) => setSoft(event.target.value)}
            />
          )}
        </Field>
      </div>
    </FormDialog>
  );
}
