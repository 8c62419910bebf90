/** What a trigger does: push a task, start a run, or check a pool. */

import type { RunBy, TriggerAction, TriggerDraft } from '../../model/trigger/form.ts';
import { Field, Segmented, Switch } from '../../ui/fields.tsx';
import { HandlerFields } from '../push/handler-fields.tsx';
import { InputPanel } from '../push/input-panel.tsx';
import type { useTaskInput } from '../push/use-task-input.ts';
import { TextField } from './text-field.tsx';

const ACTIONS = { push: 'Push a task', run: 'Start a run', check: 'Check a pool' } as const;
const RUNS = { workflow: 'Stored workflow', use: 'Machine by name', json: 'As JSON' } as const;
const EXECUTIONS = {
  task: 'any worker',
  loop: 'the process that fired it, in its loop',
  process: 'a process of its own beside that',
} as const;

interface ActionProps {
  readonly draft: TriggerDraft;
  readonly problems: Readonly<Record<string, string>>;
  readonly task: ReturnType<typeof useTaskInput>;
  readonly onChange: (part: Partial<TriggerDraft>) => void;
}

export function ActionFields({ draft, problems, task, onChange }: ActionProps) {
  const { action } = draft;
  return (
    <div className="stack">
      <h3>What it does</h3>
      <Segmented
        label="What it does"
        options={(Object.keys(ACTIONS) as TriggerAction[]).map((value) => ({ value, label: ACTIONS[value] }))}
        value={action}
        onChange={(to) => onChange({ action: to })}
      />
      {action === 'push' && (
        <>
          <HandlerFields {...task.handlerFields} />
          <InputPanel {...task.panel} />
          <details open={problems.more !== undefined}>
            <summary className="quiet">Options of its tasks</summary>
            <TextField
              label="Other fields of the task as JSON"
              hint="priority, delay, maxAttempts, retry, timeout, placement, limits, fairness"
              problem={problems.more}
              rows={3}
              placeholder='{"priority": 5}'
              value={draft.more}
              onChange={(more) => onChange({ more })}
            />
          </details>
        </>
      )}
      {action === 'run' && <RunFields draft={draft} problems={problems} onChange={onChange} />}
      {action === 'check' && (
        <TextField
          label="Pool"
          hint="Its workers that are missing are started"
          problem={problems.check}
          placeholder="papers"
          value={draft.check}
          onChange={(check) => onChange({ check })}
        />
      )}
      <div className="fields two">
        {action !== 'check' && (
          <div className="field">
            <span className="label">What it is told</span>
            <Switch checked={draft.tell} label="Also what has happened" onChange={(tell) => onChange({ tell })} />
          </div>
        )}
        <TextField
          label="Firings a minute"
          hint="At most"
          problem={problems.rate}
          placeholder="600"
          value={draft.rate}
          onChange={(rate) => onChange({ rate })}
        />
      </div>
    </div>
  );
}

function RunFields({ draft, problems, onChange }: Omit<ActionProps, 'task'>) {
  const { runBy } = draft;
  return (
    <>
      <Segmented
        label="What is run"
        options={(Object.keys(RUNS) as RunBy[]).map((value) => ({ value, label: RUNS[value] }))}
        value={runBy}
        onChange={(to) => onChange({ runBy: to, run: '' })}
      />
      <TextField
        label={runBy === 'json' ? 'The run as JSON' : runBy === 'use' ? 'Name of the machine' : 'Name of the workflow'}
        hint={
          runBy === 'json'
            ? 'machine, bundle or graph, and what else a run may have: title, queue, labels'
            : runBy === 'use'
              ? 'As the workers know it that have it registered'
              : 'It is started in its newest version'
        }
        problem={problems.run}
        rows={runBy === 'json' ? 8 : 0}
        value={draft.run}
        onChange={(run) => onChange({ run })}
      />
      <TextField
        label="Input as JSON (optional)"
        problem={problems.input}
        rows={3}
        value={draft.input}
        onChange={(input) => onChange({ input })}
      />
      <Field label="Who runs it" problem={problems.execution}>
        {(props) => (
          <select
            {...props}
            className="input"
            value={draft.execution}
            onChange={(event) => onChange({ execution: event.target.value as TriggerDraft['execution'] })}
          >
            {Object.entries(EXECUTIONS).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}
