/** The dialog that makes a pool, or changes one. */

import { useEffect, useState } from 'react';
import { client, errorText, type Pool } from '../../api.ts';
import {
  EXAMPLES,
  fieldOfPoolProblem,
  LAUNCHERS,
  type PoolDraft,
  poolDraft,
  poolIn,
  settingsText,
} from '../../model/pool/form.ts';
import { problemText } from '../../model/schedule-form.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field, Segmented } from '../../ui/fields.tsx';
import { showDone } from '../../ui/toast.tsx';
import { keptBody } from './kept.ts';
import { PolicyFields } from './policy-fields.tsx';
import { usePreview, WouldDo } from './preview.tsx';

type TextField = 'name' | 'queues' | 'slots' | 'tags';

export function EditPool({
  of,
  onClose,
  onDone,
}: {
  /** Undefined: a new one. */
  readonly of?: Pool;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}) {
  // As it was when the dialog opened: the pool itself is read again meanwhile.
  const [kept] = useState(() => of && keptBody(of));
  const [draft, setDraft] = useState(() => poolDraft(of));
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({});
  const preview = usePreview(of?.name, draft.policy);
  const problems = { ...refused, ...preview.problems };
  // The dialog is longer than a screen: what was refused comes into view.
  useEffect(() => {
    if (Object.keys(refused).length > 0)
      document.querySelector<HTMLElement>('dialog[open] [aria-invalid="true"]')?.focus();
  }, [refused]);
  const change = (part: Partial<PoolDraft>): void => {
    setRefused({});
    setDraft((before) => ({ ...before, ...part }));
  };

  const act = async (): Promise<boolean> => {
    const { body, problems: wrong } = poolIn(draft);
    setRefused(wrong);
    if (Object.keys(wrong).length > 0) return false;
    const ifRevision = kept?.ifRevision ?? 0;
    const enabled = kept?.enabled ?? true;
    try {
      await client.call('putPool', { body: { ...body, enabled, ifRevision } as never });
    } catch (error) {
      const { details } = error as { readonly details?: { readonly field?: unknown } };
      const field = fieldOfPoolProblem(details?.field);
      if (field === undefined) throw error;
      setRefused({ [field]: withPlace(details?.field, problemText(details, errorText(error))) });
      return false;
    }
    showDone(`${body.name} is kept.`);
    onDone(body.name);
    return true;
  };
  const text = (field: TextField, label: string, hint: string, placeholder = '') => (
    <Field label={label} hint={hint} problem={problems[field]}>
      {(props) => (
        <input
          {...props}
          className="input"
          autoComplete="off"
          spellCheck={false}
          placeholder={placeholder}
          value={draft[field]}
          onChange={(event) => change({ [field]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <FormDialog
      title={of === undefined ? 'Create a pool' : `Edit ${of.name}`}
      submit={of === undefined ? 'Create the pool' : 'Change the pool'}
      wide
      disabled={draft.name.trim() === ''}
      onClose={onClose}
      act={act}
    >
      {of === undefined && text('name', 'Name', 'In lists and in the names of its workers', 'papers')}
      {text('queues', 'Queues', 'Separated by commas; empty: the queue of its name', draft.name)}
      {of !== undefined && <WouldDo of={preview.checked} />}
      <h3>How many</h3>
      <PolicyFields draft={draft.policy} problems={problems} onChange={(policy) => change({ policy })} />
      <h3>A worker</h3>
      <Segmented
        label="How long a worker stays"
        options={[
          { value: 'once', label: 'One task' },
          { value: 'stay', label: 'Until it is sent home' },
        ]}
        value={draft.life}
        onChange={(life) => change({ life })}
      />
      <div className="fields two">
        {draft.life === 'stay' && text('slots', 'Slots', 'Tasks that it runs at once')}
        {text('tags', 'Tags', 'That it carries, separated by commas', 'gpu')}
      </div>
      <h3>How it is started</h3>
      <LauncherFields draft={draft} problem={problems.settings} onChange={change} />
    </FormDialog>
  );
}

/** The settings of a launcher are one field here: which of them is wrong is said with the problem. */
function withPlace(field: unknown, problem: string): string {
  const [, place] = /^launcher\.(.+)$/.exec(String(field)) ?? [];
  return place === undefined ? problem : `${place}: ${problem}`;
}

function LauncherFields({
  draft,
  problem,
  onChange,
}: {
  readonly draft: PoolDraft;
  readonly problem: string | undefined;
  readonly onChange: (part: Partial<PoolDraft>) => void;
}) {
  // A kind that this page does not know stays.
  const launchers: Readonly<Record<string, string>> = { [draft.launcher]: '', ...LAUNCHERS };
  return (
    <>
      <Field label="Launcher">
        {(props) => (
          <select
            {...props}
            className="input"
            value={draft.launcher}
            onChange={({ target: { value: launcher } }) =>
              onChange({ launcher, settings: settingsText(EXAMPLES[launcher] ?? {}) })
            }
          >
            {Object.entries(launchers).map(([value, words]) => (
              <option key={value} value={value}>
                {words === '' ? value : `${value}: ${words}`}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Its settings as JSON"
        problem={problem}
        hint="They name secrets and hold none: everybody who may read sees them"
      >
        {(props) => (
          <textarea
            {...props}
            className="input mono"
            rows={4}
            spellCheck={false}
            placeholder="{}"
            value={draft.settings}
            onChange={(event) => onChange({ settings: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}
