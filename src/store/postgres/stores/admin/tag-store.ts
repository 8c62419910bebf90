import type { TagStore } from '../../../store.ts';
import { addTag, listTags, removeTag, renameTag } from '../../verbs/admin/tag.ts';
import type { StoreParts } from '../store-parts.ts';

export function tagStore({ calls }: StoreParts): TagStore {
  return {
    tagAdd: (tag) => calls.edit('tag', (session) => addTag(session, tag)),
    tagList: () => calls.run(listTags),
    tagRename: (change) => calls.edit('tag', (session) => renameTag(session, change)),
    tagRemove: (change) => calls.edit('tag', (session) => removeTag(session, change)),
  };
}
