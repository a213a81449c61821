import { useMe } from "@/api/session";
import { Segments } from "@/parts/Field";
import { useTheme } from "@/parts/theme";
import { LANGUAGES, useSpeech, type Language } from "@/texts/language";
import { KeysPanel } from "./KeysPanel";
import { NoticesPanel } from "./NoticesPanel";
import { PasswordPanel } from "./PasswordPanel";
import { SshKeysPanel } from "./SshKeysPanel";
import { WebhooksPanel } from "./WebhooksPanel";

export function ProfilePage() {
  const { texts, language, setLanguage } = useSpeech();
  const { profile, frame } = texts;
  const me = useMe();
  const [theme, setTheme] = useTheme();
  return (
    <div className="page narrow">
      <div className="page-head">
        <h1>{profile.title}</h1>
      </div>
      <section className="panel">
        <div className="panel-head">
          <h2>{profile.account}</h2>
        </div>
        <dl className="panel-body pairs">
          <dt>{profile.name}</dt>
          <dd>{me.name}</dd>
          {me.full_name && (
            <>
              <dt>{profile.fullName}</dt>
              <dd>{me.full_name}</dd>
            </>
          )}
          {me.email && (
            <>
              <dt>{profile.email}</dt>
              <dd>{me.email}</dd>
            </>
          )}
          <dt>{profile.projects}</dt>
          <dd>
            {me.projects.length
              ? me.projects.map((name) => (
                  <div key={name}>
                    {name}{" "}
                    <span className="faint">{profile.roles[me.roles[name] ?? "member"]}</span>
                  </div>
                ))
              : profile.noProjects}
          </dd>
        </dl>
      </section>
      <section className="panel">
        <div className="panel-head">
          <h2>{profile.display}</h2>
        </div>
        <dl className="panel-body pairs">
          <dt>{profile.language}</dt>
          <dd>
            <Segments<Language>
              label={profile.language}
              value={language}
              choices={[
                ["en", LANGUAGES.en],
                ["zh", LANGUAGES.zh],
              ]}
              onChange={setLanguage}
            />
          </dd>
          <dt>{profile.theme}</dt>
          <dd>
            <Segments
              label={profile.theme}
              value={theme}
              choices={[
                ["system", frame.system],
                ["light", frame.light],
                ["dark", frame.dark],
              ]}
              onChange={setTheme}
            />
          </dd>
        </dl>
      </section>
      <KeysPanel />
      <SshKeysPanel />
      <NoticesPanel />
      <WebhooksPanel />
      <PasswordPanel />
    </div>
  );
}
