/** The text of a machine or of a graph, written, pasted or from a file, and what the node says of it. */

import { useEffect, useRef, useState } from 'react';
import { client, errorText, type RunCheck } from '../../api.ts';
import { plural } from '../../model/text.ts';
import { Button } from '../../ui/buttons.tsx';
import { Field } from '../../ui/fields.tsx';
import { StateGlyph } from '../../ui/icon.tsx';

const PAUSE_MS = 350;
const MOST_BYTES = 256 * 1024;

/** Asked for when somebody has stopped typing. Undefined: nothing is written, or the answer is on its way. */
export function useCheck(text: string): RunCheck | undefined {
  const [found, setFound] = useState<{ readonly of: string; readonly check: RunCheck }>();
  useEffect(() => {
    if (text.trim() === '') return;
    const end = new AbortController();
    const timer = setTimeout(() => {
      client.call('checkRun', { body: { text }, signal: end.signal }).then(
        (check) => setFound({ of: text, check }),
        (error: unknown) => {
          if (end.signal.aborted) return;
          const problem = { level: 'error', place: '', message: errorText(error) } as const;
          setFound({ of: text, check: { problems: [problem] } });
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [text]);
  return found?.of === text ? found.check : undefined;
}

export function DefinitionField({
  text,
  check,
  onChange,
}: {
  readonly text: string;
  readonly check: RunCheck | undefined;
  readonly onChange: (text: string) => void;
}) {
  const file = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const take = (chosen: File | undefined): void => {
    if (chosen === undefined) return;
    if (chosen.size > MOST_BYTES) {
      setProblem(`${chosen.name} is larger than ${MOST_BYTES / 1024} kB. Start it with "leasehold run FILE".`);
      return;
    }
    setProblem(undefined);
    void chosen.text().then(onChange);
  };
  return (
    <div className="stack tight">
      <Field label="Machine or graph, as YAML or JSON" problem={problem}>
        {(props) => (
          <textarea
            {...props}
            className="input mono"
            rows={10}
            spellCheck={false}
            placeholder={'spec: flatmachine\nspec_version: "2.0.0"\ndata:\n  states: …'}
            value={text}
            onChange={(event) => onChange(event.target.value)}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              const [dropped] = event.dataTransfer.files;
              if (dropped === undefined) return;
              event.preventDefault();
              take(dropped);
            }}
          />
        )}
      </Field>
      <div className="buttons">
        <Button onClick={() => file.current?.click()}>Choose a file</Button>
        <input
          ref={file}
          type="file"
          hidden
          accept=".yml,.yaml,.json"
          aria-label="File of a machine or a graph"
          onChange={(event) => {
            take(event.target.files?.[0]);
            // The same file may be chosen again, when it was corrected.
            event.target.value = '';
          }}
        />
      </div>
      <div aria-live="polite">{text.trim() === '' ? null : <Verdict of={check} />}</div>
    </div>
  );
}

function Verdict({ of: check }: { readonly of: RunCheck | undefined }) {
  if (check === undefined) return <p className="quiet">The node reads it …</p>;
  const { kind, title, definition, problems } = check;
  const errors = problems.filter(({ level }) => level === 'error').length;
  return (
    <section
      className={`verdict s-${definition === undefined ? 'failed' : 'completed'}`}
      aria-label="What the node says"
    >
      <p>
        <StateGlyph state={definition === undefined ? 'failed' : 'completed'} />{' '}
        {definition === undefined
          ? `It cannot run: ${plural(errors, 'problem')}.`
          : `The ${kind} ${title ?? ''} can run${problems.length === 0 ? '' : `, with ${plural(problems.length, 'warning')}`}.`}
      </p>
      {problems.length > 0 && (
        <ul>
          {problems.map(({ level, place, line, message }) => (
            <li key={`${place} ${line} ${message}`} className={level === 'error' ? '' : 'quiet'}>
              {line !== undefined && <span className="num">line {line}</span>} {place !== '' && <code>{place}</code>}{' '}
              {message}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
