import { useTexts } from "@/texts/language";

export function ProfilePage() {
  const { frame } = useTexts();
  return (
    <div className="page narrow">
      <div className="page-head">
        <h1>{frame.profile}</h1>
      </div>
    </div>
  );
}
