/** The dialog that forks a run: another run begins with the context of a step, with entries that somebody changes here. */

import { useMemo, useState } from 'react';
import { client, exactStep, type RunDetail } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { type ContextDraft, changesOf, draftsOf, newDraft } from '../../model/run/context-edit.ts';
import type { StepRow } from '../../model/run/rows.ts';
import { plural } from '../../model/text.ts';
import { go, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { showDone } from '../../ui/toast.tsx';

export function ForkDialog({
  run,
  from,
  onClose,
}: {
  readonly run: RunDetail;
  /** Undefined: the last step. */
  readonly from: StepRow | undefined;
  readonly onClose: () => void;
}) {
  const step = useResource(`fork ${run.id} ${from?.id}`, async (signal) =>
    // The entries as they are now: the run may go on while the dialog is open.
    from === undefined ? { context: run.context } : exactStep(run.id, from.task, from.key, signal),
  );
  const [edited, setEdited] = useState<readonly ContextDraft[]>();
  const stored = useMemo(() => draftsOf(step.data?.context), [step.data]);
  const drafts = edited ?? stored;
  const { changes, count, problems } = changesOf(drafts);
  const [name, setName] = useState('');
  const change = (i: number, part: Partial<ContextDraft>): void =>
    setEdited(drafts.map((draft, at) => (at === i ? { ...draft, ...part } : draft)));
  return (
    <FormDialog
      wide
      title={from === undefined ? 'Fork this run' : `Fork from ${from.name}`}
      submit={count === 0 ? 'Start the fork' : `Start it with ${plural(count, 'change')}`}
      disabled={problems.size > 0 || step.data === undefined}
      onClose={onClose}
      act={async () => {
        const forked = await client.call('forkRun', {
          params: { id: run.id },
          body: {
            ...(from === undefined ? {} : { step: from.key }),
            ...(count === 0 ? {} : { context: changes }),
            ...(name.trim() === '' ? {} : { name: name.trim() }),
          },
        });
        showDone('The fork has started.');
        go(`/runs/${segment(forked.id)}`);
      }}
    >
      <p>
        Another run begins{' '}
        {from === undefined ? (
          'after the last step'
        ) : (
          <>
            after <code>{from.key}</code>
          </>
        )}
        , with this context. This run stays as it is.
      </p>
      <Field label="Name (optional)" hint="The execution id of the new run">
        {(props) => (
          <input
            {...props}
            className="input"
            autoComplete="off"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <WhenLoaded of={step}>
        {() => (
          <fieldset className="stack tight">
            <legend>Context</legend>
            {drafts.map((draft, i) => (
              <Entry key={i} draft={draft} problem={problems.get(i)} onChange={(part) => change(i, part)} />
            ))}
            <div className="buttons">
              <Button small icon="plus" onClick={() => setEdited([...drafts, newDraft()])}>
                Add an entry
              </Button>
            </div>
          </fieldset>
        )}
      </WhenLoaded>
    </FormDialog>
  );
}

function Entry({
  draft,
  problem,
  onChange,
}: {
  readonly draft: ContextDraft;
  readonly problem: string | undefined;
  readonly onChange: (part: Partial<ContextDraft>) => void;
}) {
  const { name, text, removed, was } = draft;
  const rows = Math.min(8, text.split('\n').length);
  return (
    <div className={`entry ${removed ? 'removed' : text === was ? '' : 'changed'}`}>
      {was === undefined ? (
        <input
          className="input mono"
          aria-label="Name of the new entry"
          placeholder="name"
          value={name}
          onChange={(event) => onChange({ name: event.target.value })}
        />
      ) : (
        <span className="mono cut" title={name}>
          {name}
        </span>
      )}
      <div className="field">
        <textarea
          className="input mono"
          aria-label={`Value of ${name === '' ? 'the new entry' : name}, as JSON`}
          aria-invalid={problem !== undefined}
          rows={rows}
          disabled={removed}
          spellCheck={false}
          value={text}
          onChange={(event) => onChange({ text: event.target.value })}
        />
        {problem !== undefined && <p className="problem">{problem}</p>}
      </div>
      <Button
        kind="plain"
        small
        icon={removed ? 'retry' : 'trash'}
        aria-label={removed ? `Keep ${name}` : `Remove ${name}`}
        title={removed ? 'Keep it' : 'Remove it'}
        onClick={() => onChange({ removed: !removed })}
      />
    </div>
  );
}
