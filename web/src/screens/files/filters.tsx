/** The filter of the list of artifacts. Ids and names are matched whole, so a field counts once it is left or Enter is pressed. */

import { type KeyboardEvent, useState } from 'react';
import { type FileFilter, NO_FILE_FILTER, queryOfFiles, withField } from '../../model/files/list.ts';
import { Button } from '../../ui/buttons.tsx';
import { Icon } from '../../ui/icon.tsx';

export function Filters({
  filter,
  onChange,
}: {
  readonly filter: FileFilter;
  readonly onChange: (filter: FileFilter) => void;
}) {
  const write = (field: keyof FileFilter, value: string): void => onChange(withField(filter, field, value));
  return (
    <div className="filterbar" role="search" aria-label="Artifacts">
      <div className="combo">
        <Icon name="search" size={14} />
        <Text
          label="Name of the artifact"
          placeholder="Name, such as report.json"
          value={filter.name}
          isFirst
          onWritten={(value) => write('name', value)}
        />
        {filter.name === '' && <kbd>/</kbd>}
      </div>
      <Text label="Task" placeholder="Task: task_…" value={filter.task} onWritten={(value) => write('task', value)} />
      <Text label="Run" placeholder="Run: id or name" value={filter.run} onWritten={(value) => write('run', value)} />
      {queryOfFiles(filter) !== '' && (
        <Button kind="plain" small onClick={() => onChange(NO_FILE_FILTER)}>
          Clear
        </Button>
      )}
    </div>
  );
}

function Text({
  label,
  placeholder,
  value,
  isFirst = false,
  onWritten,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly isFirst?: boolean;
  readonly onWritten: (value: string) => void;
}) {
  const [draft, setDraft] = useState(value);
  const say = (next: string): void => {
    if (next.trim() !== value) onWritten(next);
  };
  const press = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'Enter') say(draft);
    else if (event.key === 'Escape') {
      setDraft(value);
      event.currentTarget.blur();
    }
  };
  return (
    <input
      {...(isFirst ? { 'data-filter': true } : {})}
      className={isFirst ? 'input' : 'input file-of'}
      type="search"
      maxLength={500}
      aria-label={label}
      placeholder={placeholder}
      autoComplete="off"
      spellCheck={false}
      value={draft}
      onChange={(event) => {
        setDraft(event.target.value);
        // The cross in the field empties it without another key.
        if (event.target.value === '') say('');
      }}
      onBlur={() => say(draft)}
      onKeyDown={press}
    />
  );
}
